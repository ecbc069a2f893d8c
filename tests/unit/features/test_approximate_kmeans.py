from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.features import approximate_kmeans as akm
from lookalike.features import word_index
from lookalike.features.keypoints import Keypoints, as_vectors, join_keypoints, root_sift
from lookalike.features.shards import save_shard
from lookalike.features.words import assign_words


@pytest.fixture(autouse=True)
def approximate(monkeypatch):
    """Search codebooks of more than ten words approximately."""
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 10)


@pytest.fixture
def exact(approximate, monkeypatch):
    """Search all codebooks exactly."""
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 10_000)


def clusters(n, n_centres=40, seed=0):
    """Descriptors around some centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).integers(0, 120, (n_centres, 128))
    return (centres[rng.integers(0, n_centres, n)] + rng.integers(0, 60, (n, 128))).astype(np.uint8)


def write_files(folder, split, sizes=(90, 0, 310, 150, 1, 249, 200), seed=0):
    """Write images of these sizes to files and return the paths."""
    images = [clusters(size, seed=seed + number) for number, size in enumerate(sizes)]
    folder.mkdir(exist_ok=True)
    paths = []
    for number, ids in enumerate(split):
        parts = [
            Keypoints(images[i], np.zeros((len(images[i]), 2), np.float32), np.zeros(len(images[i]), np.float32))
            for i in ids
        ]
        paths.append(folder / f"keypoints-{number:03d}.npz")
        save_shard(join_keypoints(np.array(ids, np.int32), parts), paths[-1])
    return paths, np.concatenate(images)


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path / "keypoints", [[0, 3, 6], [1, 4], [2, 5]])[0]


def train(files, folder, n_words=30, **settings):
    settings = {"seed": 3, "iterations": 3} | settings
    return akm.train_words(files, n_words, checkpoint=folder, **settings)


def naive(points, words, iterations):
    """Lloyd's iterations in double precision, without an index."""
    points, words = points.astype(np.float64), words.astype(np.float64)
    for _ in range(iterations):
        nearest = ((points[:, None] - words[None]) ** 2).sum(axis=2).argmin(axis=1)
        assert len(np.unique(nearest)) == len(words)
        words = np.array([points[nearest == word].mean(axis=0) for word in range(len(words))])
    return words


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.usefixtures("exact")
def test_exact_training_is_lloyds(tmp_path, root):
    files, points = write_files(tmp_path / "keypoints", [[0, 3, 6], [1, 4], [2, 5]])
    first = train(files, tmp_path / "none", 12, iterations=0, root=root)
    words = train(files, tmp_path / "three", 12, iterations=3, root=root)
    assert words.dtype == np.float32
    points = root_sift(points) if root else points
    assert {row.tobytes() for row in first} <= {row.tobytes() for row in points.astype(np.float32)}
    assert words == pytest.approx(naive(points, first, 3), rel=1e-5, abs=1e-6)


def test_approximate_training_is_exact_where_all_lists_are_searched(tmp_path, files, monkeypatch):
    lists = train(files, tmp_path / "lists")  # 5 of 30 words
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 30)
    assert lists == pytest.approx(train(files, tmp_path / "exact"), rel=1e-5)


def test_training_fits_the_descriptors(tmp_path):
    """As many words as centres describe the descriptors far better than descriptors drawn at random."""
    files, points = write_files(tmp_path / "keypoints", [[0, 1], [2]], sizes=(2000, 1500, 1500))
    before, after = (train(files, tmp_path / str(n), 60, iterations=n) for n in (0, 8))
    errors = []
    for words in (before, after):
        nearest = word_index.WordIndex(words).nearest(points.astype(np.float32))
        errors.append(np.linalg.norm(points - words[nearest], axis=1).mean())
    assert errors[1] < 0.85 * errors[0]


class Killed(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize("root", [False, True])
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, files, root, monkeypatch):
    monkeypatch.setattr(akm, "BATCH", 100)
    whole = train(files, tmp_path / "whole", root=root)
    calls = []
    train(files, tmp_path / "counted", root=root, progress=lambda done, of: calls.append((done, of)))
    assert calls[-1] == (3000, 3000)
    assert len(calls) == 36
    for n_kept in range(1, len(calls) + 1, 7):
        folder = tmp_path / f"killed-{n_kept}"
        seen = []

        def kill(done, of, n_kept=n_kept, seen=seen):
            seen.append(done)
            if len(seen) == n_kept:
                raise Killed

        with pytest.raises(Killed):
            train(files, folder, root=root, checkpoint_seconds=0, progress=kill)
        seen.clear()
        resumed = train(
            files, folder, root=root, checkpoint_seconds=0, progress=lambda done, of, s=seen: s.append(done)
        )
        assert resumed.tobytes() == whole.tobytes()
        if n_kept > 5:  # the first file has five batches, and no state is written before its end
            assert len(seen) < len(calls)  # did not begin anew


def test_a_run_killed_again_and_again_still_ends_with_the_same_bits(tmp_path, files):
    whole = train(files, tmp_path / "whole")
    folder, kills = tmp_path / "killed", 0

    def kill_at_the_second(done, of, seen):
        seen.append(done)
        if len(seen) == 2:
            raise Killed

    while True:
        try:
            seen: list[int] = []
            words = train(
                files, folder, checkpoint_seconds=0, progress=lambda d, o, s=seen: kill_at_the_second(d, o, s)
            )
            break
        except Killed:
            kills += 1
            assert kills < 30
    assert kills > 3
    assert words.tobytes() == whole.tobytes()


def interrupted(files, folder, **settings):
    """Leave a state of the second iteration in a folder."""
    total = []

    def kill(done, of):
        total.append(done)
        if done > of / 2:
            raise Killed

    with pytest.raises(Killed):
        train(files, folder, checkpoint_seconds=0, progress=kill, **settings)
    assert (folder / "state.npz").exists()


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"n_words": 29}, {"root": True}, {"max_descriptors": 500}, {"iterations": 4}]
)
def test_a_state_of_other_settings_is_not_used(tmp_path, files, change):
    interrupted(files, tmp_path / "state")
    fresh = train(files, tmp_path / "fresh", **change)
    assert train(files, tmp_path / "state", **change).tobytes() == fresh.tobytes()


def test_a_state_of_other_descriptors_is_not_used(tmp_path, files):
    interrupted(files, tmp_path / "state")
    others = write_files(tmp_path / "others", [[0, 3, 6], [1, 4], [2, 5]], seed=50)[0]
    fresh = train(others, tmp_path / "fresh")
    assert train(others, tmp_path / "state").tobytes() == fresh.tobytes()


def test_a_damaged_state_is_an_error_and_clearing_helps(tmp_path, files):
    state = tmp_path / "state" / "state.npz"
    state.parent.mkdir()
    state.write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(LookalikeError, match=r"state\.npz is damaged: delete it"):
        train(files, state.parent)
    akm.clear_checkpoint(state.parent)
    akm.clear_checkpoint(state.parent)  # nothing there is no error
    assert train(files, state.parent).shape == (30, 128)


def test_the_draw_depends_on_the_images_and_not_on_their_files(tmp_path):
    splits = [[[0, 1, 2, 3, 4, 5, 6]], [[0, 3, 6], [1, 4], [], [2, 5]], [[6, 5], [4, 3, 2], [1, 0]]]
    drawn = []
    for number, split in enumerate(splits):
        files, points = write_files(tmp_path / str(number), split)
        sample = akm._draw(files, 10, 400, seed=1)
        rows = np.concatenate([part for i in range(len(files)) for part in sample.vectors(i, False)])
        assert sum(sample.sizes) == len(rows) == 400
        drawn.append(sorted(row.tobytes() for row in rows))
        assert set(drawn[-1]) <= {row.tobytes() for row in points.astype(np.float32)}
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(set(drawn[0])) == 400


@pytest.mark.usefixtures("exact")
@pytest.mark.parametrize("most", [0, 400])
@pytest.mark.parametrize("root", [False, True])
def test_the_first_words_depend_on_the_images_and_not_on_their_files(tmp_path, most, root):
    splits = [[[0, 1, 2, 3, 4, 5, 6]], [[0, 3, 6], [1, 4], [], [2, 5]], [[6, 5], [4, 3, 2], [1, 0]]]
    settings = {"max_descriptors": most, "root": root}
    first, words = [], []
    for number, split in enumerate(splits):
        files, points = write_files(tmp_path / str(number), split)
        first.append(train(files, tmp_path / f"first-{number}", iterations=0, **settings))
        words.append(train(files, tmp_path / f"words-{number}", iterations=2, **settings))
    points = as_vectors(write_files(tmp_path / "whole", splits[0])[1], root)
    order = {row.tobytes(): place for place, row in enumerate(points)}
    places = [order[row.tobytes()] for row in first[0]]
    assert places == sorted(places)
    for other_first, other_words in zip(first[1:], words[1:], strict=True):
        assert np.array_equal(other_first, first[0])
        # sums of SIFT are exact, those of RootSIFT are not
        assert other_words == pytest.approx(words[0], rel=1e-5 if root else 0, abs=0)


def test_training_uses_only_what_was_drawn(tmp_path, files):
    sample = akm._draw(files, 10, 60, seed=3)
    points = np.concatenate([part for i in range(len(files)) for part in sample.vectors(i, False)])
    words = train(files, tmp_path / "state", 5, max_descriptors=60)
    first = train(files, tmp_path / "first", 5, max_descriptors=60, iterations=0)
    assert words == pytest.approx(naive(points, first, 3), rel=1e-5)


def test_an_empty_word_takes_half_of_the_largest():
    rng = np.random.default_rng(0)
    words = rng.uniform(1, 100, (6, 128)).astype(np.float32)
    counts = np.array([5, 0, 9, 1, 0, 2])
    sums = (words * counts[:, None]).astype(np.float32)
    before = words.copy()
    akm._move(akm._State(0, 0, words, sums, counts))
    # words 1 and 4 are empty; 2 and 0 are the largest
    for empty, large in ((1, 2), (4, 0)):
        assert (words[empty] + words[large]) / 2 == pytest.approx(before[large], rel=1e-6)
        assert words[empty] / before[large] - 1 == pytest.approx(np.tile([1, -1], 64) / 1024, rel=1e-3)
    assert words[[3, 5]] == pytest.approx(before[[3, 5]], rel=1e-6)


def test_empty_words_stay_where_there_is_nothing_to_split():
    words = np.arange(3 * 128, dtype=np.float32).reshape(3, 128)
    before = words.copy()
    akm._move(akm._State(0, 0, words, np.full((3, 128), 7, np.float32), np.array([0, 1, 0])))
    assert np.array_equal(words[[0, 2]], before[[0, 2]])
    assert (words[1] == 7).all()


def test_equal_descriptors_do_no_harm(tmp_path):
    same = np.full((50, 128), 9, np.uint8)
    other = np.full((3, 128), 100, np.uint8)
    image = Keypoints(np.concatenate([same, other]), np.zeros((53, 2), np.float32), np.zeros(53, np.float32))
    save_shard(join_keypoints(np.zeros(1, np.int32), [image]), tmp_path / "k.npz")
    words = train([tmp_path / "k.npz"], tmp_path / "state", 20, iterations=5)
    assert np.isfinite(words).all()
    found = assign_words(tmp_path / "k.npz", words).words
    assert set(found[:50].tolist()).isdisjoint(found[50:].tolist())


def test_too_few_descriptors_are_a_users_mistake(tmp_path, files):
    with pytest.raises(LookalikeError, match="1001 words cannot be learned from 1000 descriptors: give more images"):
        train(files, tmp_path, 1001)
    with pytest.raises(LookalikeError, match="raise `max_descriptors`"):
        train(files, tmp_path, 100, max_descriptors=50)
    with pytest.raises(LookalikeError, match="from 0 descriptors"):
        train([], tmp_path)


def digest():
    """Of words that were trained approximately from some descriptors, for other processes to compare."""
    import tempfile
    from pathlib import Path

    word_index.EXACT_UP_TO = 10
    with tempfile.TemporaryDirectory() as folder:
        files, _ = write_files(Path(folder) / "k", [[0, 1], [2]], sizes=(900, 500, 600))
        words = train(files, Path(folder) / "state", 100, iterations=2)
        found = assign_words(files[0], words).words
    return hashlib.sha256(words.tobytes() + found.tobytes()).hexdigest()


def test_the_bits_do_not_depend_on_threads():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_approximate_kmeans as t; print(t.digest())"
    expected = digest()
    for threads in ("1", "3"):
        done = subprocess.run(
            [sys.executable, "-c", code, os.path.dirname(__file__)],
            env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


def test_the_index_finds_nearly_all_nearest_words(monkeypatch):
    words, queries = clusters(3000, 300).astype(np.float32), clusters(500, 300, seed=1).astype(np.float32)
    scores = (words.astype(np.float64) ** 2).sum(axis=1) - 2 * queries.astype(np.float64) @ words.T.astype(np.float64)
    truth = scores.argmin(axis=1)
    recalls = [(word_index.WordIndex(words, n).nearest(queries) == truth).mean() for n in (1, 16, 55)]
    assert recalls[0] < recalls[1] <= recalls[2] == 1
    assert recalls[1] > 0.95
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 3000)
    assert np.array_equal(word_index.WordIndex(words).nearest(queries), truth)


def test_lists_without_a_word_are_not_searched(monkeypatch):
    """The query is nearest to the centre of an empty list; of the others that of word 10 is nearer."""
    centres = np.zeros((3, 128), np.float32)
    centres[:, 0] = 1, 9, 5.4
    monkeypatch.setattr(word_index, "cluster", lambda *_: centres)
    words, query = np.zeros((2, 128), np.float32), np.zeros((1, 128), np.float32)
    words[:, 0], query[0, 0] = (0, 10), 5.4
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 0)
    index = word_index.WordIndex(words, 1)
    assert index.nearest(query).tolist() == [1]


def test_searching_in_parts_makes_no_difference(monkeypatch):
    words, queries = clusters(500).astype(np.float32), clusters(300, seed=1).astype(np.float32)
    index = word_index.WordIndex(words)
    whole = index.nearest(queries)
    monkeypatch.setattr(word_index, "BATCH", 64)
    assert np.array_equal(index.nearest(queries), whole)
    assert index.nearest(queries[:0]).shape == (0,)
