"""A folder of visterm counts: what is written is read back, and what is damaged is told."""

import numpy as np
import pytest
import scipy.sparse as sp
from made_manifests import manifest_of

from lookalike.core.errors import LookalikeError
from lookalike.data.visterm_folder import COLUMNS, read_visterm_folder, write_visterm_folder

MANIFEST = manifest_of({"001.cat": {"ok": 3, "too_small": 1}, "257.clutter": {"clutter": 2}})
COUNTS = sp.csr_array(np.arange(24, dtype=np.int32).reshape(6, 4) % 5)
POOL = np.array([False, True, False, False, True, True])


@pytest.fixture
def folder(tmp_path):
    write_visterm_folder(tmp_path, MANIFEST, POOL, COUNTS)
    return tmp_path


def test_what_is_written_is_read_back(folder):
    manifest, pool, counts = read_visterm_folder(folder, n_words=4)
    assert manifest.equals(MANIFEST)
    assert pool.equals(MANIFEST.loc[POOL, ["image_id", "label"]])
    assert (counts != COUNTS).nnz == 0
    assert counts.dtype == np.int32
    with pytest.raises(LookalikeError, match="has 6 x 4 counts, not 6 x 1,000"):
        read_visterm_folder(folder, n_words=1000)
    for strange in (-COUNTS, COUNTS * np.nan):
        write_visterm_folder(folder, MANIFEST, POOL, strange)
        with pytest.raises(LookalikeError, match=r"cannot read .*counts\.npz, a sparse matrix of whole numbers"):
            read_visterm_folder(folder, n_words=4)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("counts.npz", None, "holds no counts.npz: put a folder of visterm counts there"),
        ("counts.npz", b"PK", "cannot read .*counts.npz, a sparse matrix of whole numbers"),
        ("manifest.csv", b"path,label\na.jpg,cat\n", "lacks the column width: it needs path, label, width"),
        ("manifest.csv", b"", "manifest.csv is empty"),
        ("manifest.csv", f"{','.join(COLUMNS)}\na,b,1,1,1,c,ok,,Yes\n".encode(), "line 2 has 'Yes' under in_pool"),
        ("manifest.csv", f"{','.join(COLUMNS)}\na,b,1,1,1,c,fine,,True\n".encode(), "line 2 has 'fine' under status"),
    ],
)
def test_what_is_damaged_is_told(folder, name, content, sentence):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(LookalikeError, match=sentence):
        read_visterm_folder(folder, n_words=4)
