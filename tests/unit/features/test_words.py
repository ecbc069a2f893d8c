"""Visual words: large codebooks trained approximately and resumed, the nearest word, and words counted by image."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import faiss
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_features import block_counts, nearest, sift_descriptors, write_keypoints

from lookalike.core.errors import LookalikeError
from lookalike.features import approximate_kmeans as akm
from lookalike.features import word_index
from lookalike.features import words as wd
from lookalike.features.clustering import one_thread
from lookalike.features.codebook import learn_codebook
from lookalike.features.descriptors import normalise
from lookalike.features.keypoints import as_vectors, load_descriptors
from lookalike.features.shards import save_shard

IMAGES = [sift_descriptors(size, seed=seed) for seed, size in enumerate((90, 0, 310, 150, 1, 249, 200))]
SPLITS = [[[0, 1, 2, 3, 4, 5, 6]], [[0, 3, 6], [1, 4], [], [2, 5]], [[6, 5], [4, 3, 2], [1, 0]]]


@pytest.fixture(autouse=True)
def approximate(monkeypatch):
    """Search codebooks of more than ten words approximately."""
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 10)


@pytest.fixture
def files(tmp_path):
    return write_keypoints(tmp_path / "keypoints", IMAGES, SPLITS[1])


def train(files, folder, n_words=30, **settings):
    return akm.train_words(files, n_words, checkpoint=folder, **{"seed": 3, "iterations": 3} | settings)


# Training


@pytest.mark.parametrize(("root", "most"), [(False, 0), (True, 0), (False, 400)])
def test_exact_training_is_lloyds_and_depends_on_the_images_and_not_on_their_files(tmp_path, monkeypatch, root, most):
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 10_000)
    settings = {"n_words": 12, "root": root, "max_descriptors": most}
    points = as_vectors(np.concatenate(IMAGES), root)
    place_of = {row.tobytes(): place for place, row in enumerate(points)}
    first, words = [], []
    for number, split in enumerate(SPLITS):
        paths = write_keypoints(tmp_path / str(number), IMAGES, split)
        first.append(train(paths, tmp_path / f"first-{number}", iterations=0, **settings))
        words.append(train(paths, tmp_path / f"words-{number}", **settings))
    places = [place_of[row.tobytes()] for row in first[0]]
    assert places == sorted(places)
    for other_first, other_words in zip(first[1:], words[1:], strict=True):
        np.testing.assert_array_equal(other_first, first[0])
        # sums of SIFT are exact, those of RootSIFT are not
        np.testing.assert_allclose(other_words, words[0], rtol=1e-5 if root else 0)
    if not most:
        expected = first[0].astype(np.float64)
        for _ in range(3):
            found = nearest(points, expected)
            expected = np.array([points[found == word].mean(axis=0, dtype=np.float64) for word in range(12)])
        np.testing.assert_allclose(words[0], expected, rtol=1e-5, atol=1e-6)


def test_training_uses_the_descriptors_that_were_drawn(tmp_path, files):
    """With as many words as descriptors are drawn, the words are these."""
    drawn = train(files, tmp_path / "state", 100, max_descriptors=100, iterations=0)
    rows = {row.tobytes() for row in drawn}
    assert len(rows) == 100
    assert rows <= {row.tobytes() for row in np.concatenate(IMAGES).astype(np.float32)}
    other = train(files, tmp_path / "other", 100, max_descriptors=100, iterations=0, seed=4)
    assert not np.array_equal(drawn, other)


def test_approximate_training_is_exact_where_all_lists_are_searched_and_fits_the_descriptors(
    tmp_path, files, monkeypatch
):
    start, lists = (train(files, tmp_path / str(n), iterations=n) for n in (0, 3))  # 5 lists of 30 words
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 30)
    np.testing.assert_allclose(lists, train(files, tmp_path / "exact"), rtol=1e-5)
    points = np.concatenate(IMAGES).astype(np.float32)
    errors = [np.linalg.norm(points - words[nearest(points, words)], axis=1).mean() for words in (start, lists)]
    assert errors[1] < 0.85 * errors[0]


class Killed(Exception):
    """Stands for the end of a process."""


def killed_after(n_batches):
    """Return a list of what was told, and a callback that ends the run after so many batches."""
    told = []

    def progress(done, total):
        told.append((done, total))
        if len(told) == n_batches:
            raise Killed

    return told, progress


@pytest.mark.parametrize("root", [False, True])
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, files, root, monkeypatch):
    monkeypatch.setattr(akm, "BATCH", 100)
    told, progress = killed_after(0)
    whole = train(files, tmp_path / "whole", root=root, progress=progress)
    assert (len(told), told[-1]) == (36, (3000, 3000))
    for n_kept in (1, 8, 15, 29):
        folder = tmp_path / f"killed-{n_kept}"
        with pytest.raises(Killed):
            train(files, folder, root=root, checkpoint_seconds=0, progress=killed_after(n_kept)[1])
        told, progress = killed_after(0)
        resumed = train(files, folder, root=root, checkpoint_seconds=0, progress=progress)
        assert resumed.tobytes() == whole.tobytes()
        if n_kept > 5:  # the first file has five batches, and no state is written before its end
            assert len(told) < 36  # did not begin anew


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"n_words": 29}, {"root": True}, {"max_descriptors": 500}, {"iterations": 4}, {}]
)
def test_a_state_of_other_settings_or_descriptors_is_not_used(tmp_path, files, change):
    with pytest.raises(Killed):
        train(files, tmp_path / "state", checkpoint_seconds=0, progress=killed_after(8)[1])
    assert (tmp_path / "state" / "state.npz").exists()
    if not change:
        files = write_keypoints(tmp_path / "others", [image[::-1] for image in IMAGES], SPLITS[1])
    fresh = train(files, tmp_path / "fresh", **change)
    assert train(files, tmp_path / "state", **change).tobytes() == fresh.tobytes()


def test_a_damaged_state_is_an_error_and_clearing_helps(tmp_path, files):
    state = tmp_path / "state" / "state.npz"
    state.parent.mkdir()
    state.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(LookalikeError, match=r"state\.npz is damaged: delete it"):
        train(files, state.parent)
    akm.clear_checkpoint(state.parent)
    akm.clear_checkpoint(state.parent)  # nothing there is no error
    assert train(files, state.parent).shape == (30, 128)


def test_an_empty_word_takes_half_of_the_largest_and_stays_where_there_is_nothing_to_split():
    before = np.random.default_rng(0).uniform(1, 100, (6, 128)).astype(np.float32)
    words, counts = before.copy(), np.array([5, 0, 9, 1, 0, 2])
    akm._move(akm._State(0, 0, words, (words * counts[:, None]).astype(np.float32), counts))
    # words 1 and 4 are empty; 2 and 0 are the largest
    for empty, large in ((1, 2), (4, 0)):
        assert (words[empty] + words[large]) / 2 == pytest.approx(before[large], rel=1e-6)
        assert words[empty] / before[large] - 1 == pytest.approx(np.tile([1, -1], 64) / 1024, rel=1e-3)
    assert words[[3, 5]] == pytest.approx(before[[3, 5]], rel=1e-6)
    words = before[:3].copy()
    akm._move(akm._State(0, 0, words, np.full((3, 128), 7, np.float32), np.array([0, 1, 0])))
    np.testing.assert_array_equal(words, [before[0], np.full(128, 7), before[2]])


def trained_bits(folder):
    """A codebook, words that were trained approximately, and those of a file, for another process to compare."""
    codebook = learn_codebook(normalise(block_counts(1000)), 30, seed=5, n_iterations=5)
    word_index.EXACT_UP_TO = 10
    paths = write_keypoints(Path(folder), IMAGES, SPLITS[1])
    words = train(paths, Path(folder) / "state", 60, iterations=2)
    return bytes(codebook).hex() + bytes(words).hex() + bytes(wd.assign_words(paths[0], words).words).hex()


def test_the_bits_do_not_depend_on_threads(tmp_path):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_words as t; print(t.trained_bits(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__), tmp_path / "there"],
        env=os.environ | {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == trained_bits(tmp_path / "here")
    before = faiss.omp_get_max_threads()
    with one_thread():
        assert faiss.omp_get_max_threads() == 1
    assert faiss.omp_get_max_threads() == before


# Nearest words


def test_the_index_finds_nearly_all_nearest_words(monkeypatch):
    words, queries = (sift_descriptors(n, 200, seed).astype(np.float32) for n, seed in ((2000, 0), (300, 1)))
    truth = nearest(queries, words)
    recalls = [(word_index.WordIndex(words, n).nearest(queries) == truth).mean() for n in (1, 16, 45)]
    assert recalls[0] < recalls[1] <= recalls[2] == 1
    assert recalls[1] > 0.95
    index = word_index.WordIndex(words)
    whole = index.nearest(queries)
    monkeypatch.setattr(word_index, "BATCH", 64)
    np.testing.assert_array_equal(index.nearest(queries), whole)
    assert index.nearest(queries[:0]).shape == (0,)


def test_lists_without_a_word_are_not_searched(monkeypatch):
    """The query is nearest to the centre of an empty list; of the others that of word 10 is nearer."""
    centres, words, query = (np.zeros((n, 128), np.float32) for n in (3, 2, 1))
    centres[:, 0], words[:, 0], query[0, 0] = (1, 9, 5.4), (0, 10), 5.4
    monkeypatch.setattr(word_index, "cluster", lambda *_: centres)
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 0)
    assert word_index.WordIndex(words, 1).nearest(query).tolist() == [1]


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_every_descriptor_gets_its_nearest_word(tmp_path, root, exact_up_to, monkeypatch):
    monkeypatch.setattr(wd, "BATCH", 16)
    monkeypatch.setattr(word_index, "EXACT_UP_TO", exact_up_to)  # 16 lists are all of them
    path = write_keypoints(tmp_path, IMAGES, [[4, 1, 0]])[0]
    vectors = as_vectors(load_descriptors(path), root)
    codebook = vectors[np.random.default_rng(0).permutation(91)[:20]] * np.float32(1.01)
    calls = []
    found = wd.assign_words(path, codebook, root=root, progress=lambda *done: calls.append(done))
    assert calls == [(done, 91) for done in (16, 32, 48, 64, 80, 91)]
    np.testing.assert_array_equal(found.words, nearest(vectors, codebook))
    assert found.words.dtype == np.int32
    assert (found.image_ids.tolist(), found.offsets.tolist()) == ([4, 1, 0], [0, 1, 1, 91])
    assert found.positions.shape == (91, 2)


# Counts

N_WORDS = 7


def write_words(folder, *shards):
    """Write the words of images {id: [(word, x, y), ...]} of each shard."""
    paths = []
    for number, images in enumerate(shards):
        table = np.array([row for rows in images.values() for row in rows], np.float32).reshape(-1, 3)
        offsets = np.cumsum([0, *(len(rows) for rows in images.values())])
        paths.append(folder / f"words-{number}.npz")
        save_shard(
            wd.WordShard(np.fromiter(images, np.int32), offsets, table[:, 0].astype(np.int32), table[:, 1:]), paths[-1]
        )
    return paths


ROWS = st.lists(st.tuples(st.integers(0, N_WORDS - 1), st.integers(0, 20), st.integers(0, 20)), max_size=12)
BOX = ["query", "image_id", "x_min", "y_min", "x_max", "y_max"]


@settings(max_examples=40, deadline=None)
@given(
    images=st.dictionaries(st.integers(0, 9), ROWS, min_size=1, max_size=6),
    n_files=st.integers(1, 3),
    corners=st.lists(st.tuples(*[st.integers(-2, 21)] * 4), max_size=4),
    data=st.data(),
)
def test_counts_are_what_a_counter_counts_in_an_image_and_in_a_rectangle(
    tmp_path_factory, images, n_files, corners, data
):
    """The edges of a rectangle are inside."""
    ids = list(images)
    paths = write_words(
        tmp_path_factory.mktemp("words"), *({i: images[i] for i in ids[n::n_files]} for n in range(n_files))
    )
    queries = [
        (f"q{row}", data.draw(st.sampled_from(ids)), min(x, u), min(y, v), max(x, u), max(y, v))
        for row, (x, y, u, v) in enumerate(corners)
    ]
    of_images, of_queries = np.zeros((10, N_WORDS), np.int32), np.zeros((len(queries), N_WORDS), np.int32)
    for image_id, rows in images.items():
        for word, n in Counter(word for word, _, _ in rows).items():
            of_images[image_id, word] = n
    for row, (_, image_id, x_min, y_min, x_max, y_max) in enumerate(queries):
        for word, x, y in images[image_id]:
            of_queries[row, word] += x_min <= x <= x_max and y_min <= y <= y_max
    found = wd.count_words(paths, 10, N_WORDS)
    found_of_queries = wd.count_query_words(paths, pd.DataFrame(queries, columns=BOX), N_WORDS)
    for counts, expected in ((found, of_images), (found_of_queries, of_queries)):
        np.testing.assert_array_equal(counts.toarray(), expected)
        assert (counts.dtype, counts.has_sorted_indices, counts.has_canonical_format) == (np.int32, True, True)
        assert counts.nnz == np.count_nonzero(expected)


WITHOUT_WORDS = pd.DataFrame([("all_souls_1", 1, 0, 0, 2, 2), ("keble_3", 4, 0, 0, 2, 2)], columns=BOX)
MISFITS = [
    ([{3: []}], "not in the manifest"),
    ([{-1: []}], "not in the manifest"),
    ([{0: []}, {1: [], 0: []}], "in another file too"),
    ([{0: [(7, 1, 1)]}], "a word 7, but the codebook has words 0 to 6: delete"),
    ([{0: [(-1, 1, 1)]}], "a word -1, but the codebook has words 0 to 6: delete"),
]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda files, folder: train(files, folder, 1001), "1001 words cannot be learned from 1000 descriptors: give"),
        (lambda files, folder: train(files, folder, 100, max_descriptors=50), "raise `max_descriptors`"),
        (lambda _, folder: train([], folder), "from 0 descriptors"),
        *(
            (lambda _, folder, shards=shards: wd.count_words(write_words(folder, *shards), 3, N_WORDS), sentence)
            for shards, sentence in MISFITS
        ),
        (
            lambda _, folder: wd.count_query_words(write_words(folder, {1: [(0, 1, 1)]}), WITHOUT_WORDS, N_WORDS),
            "queries keble_3 have no words",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, files, call, sentence):
    with pytest.raises(LookalikeError, match=sentence):
        call(files, tmp_path)


def test_no_files_are_empty_counts():
    assert wd.count_words([], 3, N_WORDS).toarray().tolist() == [[0] * N_WORDS] * 3
