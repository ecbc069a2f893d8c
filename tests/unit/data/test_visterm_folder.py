"""Folders of counts in place of photographs: what they tell of these, and what they do not."""

import pandas as pd

from lookalike.data.scan import COLUMN_TYPES
from lookalike.data.visterm_folder import anonymous


def manifest_of(paths):
    facts = {"width": 100, "height": 80, "bytes": 10, "sha256": "ab", "status": "ok", "reason": ""}
    table = pd.DataFrame({"path": paths, **facts})
    table["label"] = table["path"].str.rpartition("/")[0]
    return table.assign(image_id=range(len(table)))[list(COLUMN_TYPES)].astype(COLUMN_TYPES)


def test_photographs_without_names_keep_their_order():
    paths = ["gate/Peter at the gate.jpg", "gate/inside/unnamed.jpg", "old fort/unnamed.jpg", "unnamed.jpg"]
    given = manifest_of(paths)
    table = anonymous(given)
    assert table["path"].tolist() == ["gate/0001.jpg", "gate/0002.jpg", "old fort/0001.jpg", "0001.jpg"]
    assert table["label"].tolist() == ["gate", "gate", "old fort", ""]
    assert set(table["sha256"]) == {""}
    assert table["image_id"].tolist() == given["image_id"].tolist()
