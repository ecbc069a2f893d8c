from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.app.representations import VectorCache, enlarged, make_representation
from lookalike.app.sources import read_class_folders
from lookalike.core.errors import LookalikeError
from lookalike.features.pyramid import is_large_enough


def dense(rows: object) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (60, 72), (33, 900), (159, 256), (2000, 3000)])
def test_an_image_is_enlarged_as_little_as_the_pyramid_needs(height: int, width: int) -> None:
    taller, wider = enlarged(height, width)
    assert is_large_enough(wider, taller)
    factor = taller / height
    assert factor >= 1
    if factor > 1:
        assert not is_large_enough(int(width * (factor - 0.125)), int(height * (factor - 0.125)))


@pytest.mark.parametrize("name", ["visterms", "hog", "color", "sift-like"])
def test_rows_do_not_depend_on_jobs_or_on_the_cache(photos: Path, tmp_path: Path, name: str) -> None:
    found = read_class_folders(photos)
    paths, names = found.paths[:12], found.images["sha256"].tolist()[:12]
    settings = {"words": 20} if name == "visterms" else {}
    first = make_representation(name, **settings)
    rows = first.fit(paths, names, seed=3, jobs=1)
    again = make_representation(name, **settings)
    assert np.array_equal(dense(rows), dense(again.fit(paths, names, seed=3, jobs=3, cache=tmp_path / "cache")))
    cached = make_representation(name, **settings)
    gone = [path.with_name("gone.png") for path in paths]  # nothing is read that the cache has
    if name in ("visterms", "sift-like"):
        assert np.array_equal(dense(rows), dense(cached.fit(gone, names, seed=3, cache=tmp_path / "cache")))
    lengths = np.linalg.norm(dense(rows), axis=1)
    assert np.allclose(lengths[lengths > 0], 1, atol=1e-5)
    restored = make_representation(first.name, **first.settings())
    restored.restore(first.arrays())
    assert np.array_equal(dense(restored.rows(paths[:5], names[:5])), dense(rows)[:5])


def test_a_damaged_cache_is_not_used(photos: Path, tmp_path: Path) -> None:
    found = read_class_folders(photos)
    paths, names = found.paths, found.images["sha256"].tolist()
    hog = make_representation("hog")
    rows = hog.rows(paths, names, cache=tmp_path)
    (part, *_) = sorted(tmp_path.rglob("*.npz"))
    part.write_bytes(part.read_bytes()[:500])
    assert np.array_equal(rows, make_representation("hog").rows(paths, names, cache=tmp_path))


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = VectorCache(tmp_path / "file", "key", 2)
    with pytest.warns(UserWarning, match="nothing is cached any more"):
        store.add(["a"], np.ones((1, 2), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.add(["b"], np.zeros((1, 2), np.float32))
    assert store.rows(["b", "a"]).tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [
        ("histogram", None, "no representation 'histogram'"),
        ("hog", 5, "--words is of visterms"),
        ("visterms", 1, "2 to 10,000 words"),
    ],
)
def test_what_there_is_not_is_one_sentence(name: str, words: int | None, sentence: str) -> None:
    with pytest.raises(LookalikeError, match=sentence):
        make_representation(name, words)
