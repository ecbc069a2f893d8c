"""Folders of counts in place of photographs: what they tell of these, and what they do not."""

import pandas as pd

from lookalike.data.visterm_folder import anonymous


def test_photographs_without_names_keep_their_order():
    paths = ["gate/Peter at the gate.jpg", "gate/inside/unnamed.jpg", "old fort/unnamed.jpg", "unnamed.jpg"]
    labels = ["gate", "gate/inside", "old fort", ""]
    table = anonymous(pd.DataFrame({"path": paths, "label": labels, "sha256": "ab", "image_id": range(4)}))
    assert table["path"].tolist() == ["gate/0001.jpg", "gate/0002.jpg", "old fort/0001.jpg", "0001.jpg"]
    assert table["label"].tolist() == ["gate", "gate", "old fort", ""]
    assert set(table["sha256"]) == {""}
    assert table["image_id"].tolist() == [0, 1, 2, 3]
