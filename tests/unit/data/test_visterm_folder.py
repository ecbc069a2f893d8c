"""Folders of counts in place of photographs: what they tell of these, and what they do not."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike.data.scan import COLUMN_TYPES
from lookalike.data.visterm_folder import anonymous, labels_in, read_visterm_folder, small_counts, write_visterm_folder


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


def test_counts_come_back_whole_from_few_bytes(tmp_path):
    counts = sp.csr_array(np.array([[0, 200], [3, 0], [0, 0]], dtype=np.int32))
    assert small_counts(counts).dtype == np.uint8
    assert small_counts(sp.csr_array(counts * 2)).dtype == np.uint16
    manifest = anonymous(manifest_of(["a/1.jpg", "a/2.jpg", "b/1.jpg"]))
    write_visterm_folder(tmp_path, manifest, np.ones(3, dtype=bool), small_counts(counts))
    read, pool, again = read_visterm_folder(tmp_path, 2)
    assert (again.dtype, again.toarray().tolist()) == (np.int32, counts.toarray().tolist())
    assert read.equals(manifest)
    assert len(pool) == 3
    assert (labels_in(tmp_path), labels_in(tmp_path / "nowhere")) == (["a", "a", "b"], [])
