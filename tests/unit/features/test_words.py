from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import LookalikeError
from lookalike.features import word_index
from lookalike.features import words as wd
from lookalike.features.keypoints import Keypoints, join_keypoints, root_sift
from lookalike.features.shards import load_shard, save_shard

N_WORDS = 7


def word_shard(images, first=0):
    """Words and positions of images {id: [(word, x, y), ...]}."""
    rows = [row for entries in images.values() for row in entries]
    table = np.array(rows, np.float64).reshape(-1, 3)
    offsets = np.cumsum([0, *(len(entries) for entries in images.values())])
    return wd.WordShard(
        np.fromiter(images, np.int32), offsets, table[:, 0].astype(np.int32), table[:, 1:].astype(np.float32)
    )


def write(folder, *shards):
    paths = [folder / f"words-{number:03d}.npz" for number in range(len(shards))]
    for path, images in zip(paths, shards, strict=True):
        save_shard(word_shard(images), path)
    return paths


def box(name, image_id, x_min, y_min, x_max, y_max):
    names = ("query", "image_id", "x_min", "y_min", "x_max", "y_max")
    return dict(zip(names, (name, image_id, x_min, y_min, x_max, y_max), strict=True))


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_assignment_finds_the_nearest_word_of_each_descriptor(tmp_path, root, exact_up_to, monkeypatch):
    monkeypatch.setattr(wd, "BATCH", 16)
    monkeypatch.setattr(word_index, "EXACT_UP_TO", exact_up_to)  # 16 lists are all of them
    rng = np.random.default_rng(0)
    images = []
    for n in (30, 0, 11):
        descriptors = rng.integers(0, 120, (n, 128)).astype(np.uint8)
        images.append(Keypoints(descriptors, rng.random((n, 2), np.float32), np.ones(n, np.float32)))
    keypoints = join_keypoints(np.array([4, 5, 9]), images)
    save_shard(keypoints, tmp_path / "keypoints.npz")
    vectors = root_sift(keypoints.descriptors) if root else keypoints.descriptors.astype(np.float32)
    codebook = vectors[rng.permutation(41)[:20]] * np.float32(1.01)
    calls = []
    found = wd.assign_words(
        tmp_path / "keypoints.npz",
        codebook,
        root=root,
        progress=lambda done, of: calls.append((done, of)),
    )
    assert calls == [(16, 41), (32, 41), (41, 41)]
    nearest = ((vectors[:, None].astype(np.float64) - codebook[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(found.words, nearest)
    assert found.words.dtype == np.int32
    assert np.array_equal(found.image_ids, [4, 5, 9])
    assert np.array_equal(found.offsets, [0, 30, 30, 41])
    assert np.array_equal(found.positions, keypoints.positions)


def test_word_files_are_read_as_written_and_the_same_bytes(tmp_path):
    shard = word_shard({3: [(2, 0.5, 1)], 8: [], 5: [(0, 3, 4), (2, 9, 9)]})
    for name in ("one.npz", "two.npz"):
        save_shard(shard, tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    for ours, theirs in zip(shard, load_shard(wd.WordShard, tmp_path / "one.npz"), strict=True):
        assert np.array_equal(ours, theirs)
        assert theirs.dtype == {"i": ours.dtype, "f": np.float32}[ours.dtype.kind]


entries = st.lists(st.tuples(st.integers(0, N_WORDS - 1), st.integers(0, 20), st.integers(0, 20)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(images=st.dictionaries(st.integers(0, 9), entries, max_size=6), n_files=st.integers(1, 3))
def test_counts_are_what_a_counter_counts(tmp_path_factory, images, n_files):
    ids = list(images)
    shards = [{i: images[i] for i in ids[number::n_files]} for number in range(n_files)]
    counts = wd.count_words(write(tmp_path_factory.mktemp("words"), *shards), 10, N_WORDS)
    expected = np.zeros((10, N_WORDS), np.int32)
    for image_id, rows in images.items():
        for word, n in Counter(word for word, _, _ in rows).items():
            expected[image_id, word] = n
    assert np.array_equal(counts.toarray(), expected)
    assert counts.dtype == np.int32
    assert counts.has_sorted_indices
    assert counts.has_canonical_format
    assert counts.nnz == np.count_nonzero(expected)


@settings(max_examples=60, deadline=None)
@given(
    images=st.dictionaries(st.integers(0, 9), entries, min_size=1, max_size=5),
    corners=st.lists(st.tuples(*[st.integers(-2, 21)] * 4), max_size=4),
    data=st.data(),
)
def test_query_counts_are_of_the_words_inside(tmp_path_factory, images, corners, data):
    queries = []
    for number, (x, y, u, v) in enumerate(corners):
        image_id = data.draw(st.sampled_from(list(images)))
        queries.append(box(f"q{number}", image_id, min(x, u), min(y, v), max(x, u), max(y, v)))
    ids = list(images)
    paths = write(tmp_path_factory.mktemp("words"), *({i: images[i] for i in ids[n::2]} for n in range(2)))
    counts = wd.count_query_words(paths, pd.DataFrame(queries, columns=list(box(*"abcdef"))), N_WORDS)
    expected = np.zeros((len(queries), N_WORDS), np.int32)
    for row, query in enumerate(queries):
        for word, x, y in images[query["image_id"]]:
            if query["x_min"] <= x <= query["x_max"] and query["y_min"] <= y <= query["y_max"]:
                expected[row, word] += 1
    assert np.array_equal(counts.toarray(), expected)
    assert counts.dtype == np.int32
    assert counts.has_sorted_indices


def test_the_edges_of_a_rectangle_are_inside_and_rows_follow_the_queries(tmp_path):
    paths = write(tmp_path, {1: [(0, 9.9, 10), (1, 10, 10), (2, 15, 12), (3, 20, 30), (4, 20, 30.1)]}, {0: [(5, 1, 1)]})
    queries = [
        box("b", 1, 10, 10, 20, 30),
        box("a", 0, 0, 0, 5, 5),
        box("c", 1, 20, 30, 20, 30),
        box("d", 1, 0, 0, 1, 1),
    ]
    counts = wd.count_query_words(paths, pd.DataFrame(queries), N_WORDS).toarray()
    assert counts.tolist() == [[0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0, 0], [0] * 7]


def test_a_query_without_words_is_an_error_that_names_it(tmp_path):
    paths = write(tmp_path, {1: [(0, 1, 1)]})
    queries = pd.DataFrame([box("all_souls_1", 1, 0, 0, 2, 2), box("keble_3", 4, 0, 0, 2, 2)])
    with pytest.raises(LookalikeError, match="queries keble_3 have no words"):
        wd.count_query_words(paths, queries, N_WORDS)


@pytest.mark.parametrize(
    ("shards", "message"),
    [
        ([{3: []}], "not in the manifest"),
        ([{-1: []}], "not in the manifest"),
        ([{0: []}, {1: [], 0: []}], "in another file too"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, shards, message):
    with pytest.raises(LookalikeError, match=message):
        wd.count_words(write(tmp_path, *shards), 3, N_WORDS)


def test_no_files_are_empty_counts():
    counts = wd.count_words([], 3, N_WORDS)
    assert counts.shape == (3, N_WORDS)
    assert counts.nnz == 0
