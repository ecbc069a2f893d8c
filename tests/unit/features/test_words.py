"""SIFT keypoints and visual words: codebooks trained and resumed, the nearest word, words counted and published."""

import os
import subprocess
import sys
from pathlib import Path

import cv2
import faiss
import numpy as np
import pandas as pd
import pytest
from made_features import block_counts, flat, nearest, sift_rows, texture, write_images, write_keypoints, write_shards
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator
from lookalike.core.settings.schema import SiftSettings
from lookalike.features import approximate_kmeans as akm
from lookalike.features import descriptors, word_index
from lookalike.features import keypoints as kp
from lookalike.features import words as wd
from lookalike.features.clustering import one_thread
from lookalike.features.codebook import learn_codebook
from lookalike.features.descriptors import normalise
from lookalike.features.keypoints import as_vectors, load_descriptors
from lookalike.features.published_words import read_published_words
from lookalike.features.shards import load_shard, save_shard, shard_of

IMAGES = [sift_rows(size, seed=seed) for seed, size in enumerate((90, 0, 310, 150, 1, 249, 200))]
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


@pytest.mark.parametrize(("root", "most"), [(True, 0), (False, 0), (False, 400)])
def test_exact_training_is_lloyds_on_a_sample_of_the_images_whatever_files_they_are_in(
    tmp_path, monkeypatch, root, most
):
    monkeypatch.setattr(word_index, "EXACT_UP_TO", 10_000)
    every, settings = np.concatenate(IMAGES), {"n_words": 12, "root": root, "max_descriptors": most}

    def sample(rows, n, name):
        return rows[np.sort(generator(3, name).choice(len(rows), n, replace=False, shuffle=False))]

    points = as_vectors(sample(every, most or len(every), "descriptors"), root)
    first = expected = sample(points, 12, "first words")
    for _ in range(3):
        found = nearest(points, expected)
        expected = np.array([points[found == word].mean(axis=0, dtype=np.float64) for word in range(12)])
    words = []
    for number, split in enumerate(SPLITS):
        paths = write_keypoints(tmp_path / str(number), IMAGES, split)
        np.testing.assert_array_equal(train(paths, tmp_path / f"first-{number}", iterations=0, **settings), first)
        words.append(train(paths, tmp_path / f"words-{number}", **settings))
        np.testing.assert_allclose(words[-1], expected, rtol=1e-5, atol=1e-6)
    if not root:  # sums of SIFT are exact
        np.testing.assert_array_equal(words[1:], [words[0]] * 2)


def killed_after(n_batches, files, folder, **settings):
    """Train until so many batches are done, and leave what a kill would leave."""
    done = iter(range(1, n_batches))
    with pytest.raises(StopIteration):
        train(files, folder, checkpoint_seconds=0, progress=lambda *_: next(done), **settings)


@pytest.mark.parametrize("root", [False, True])
def test_a_killed_run_goes_on_to_the_same_bits(tmp_path, files, root, monkeypatch):
    monkeypatch.setattr(akm, "BATCH", 100)
    whole = train(files, tmp_path / "whole", root=root)
    for n_kept in (0, 1, 8, 29):
        counted = []
        if n_kept:
            killed_after(n_kept, files, tmp_path / str(n_kept), root=root)
        resumed = train(files, tmp_path / str(n_kept), root=root, progress=lambda *done, to=counted: to.append(done))
        assert resumed.tobytes() == whole.tobytes()
        # the first file has five batches, and no state is written before its end
        assert (len(counted) < 36, counted[-1]) == (n_kept > 5, (3000, 3000))


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"n_words": 29}, {"root": True}, {"max_descriptors": 500}, {"iterations": 1}, {}]
)
def test_a_state_of_other_settings_or_descriptors_is_not_used(tmp_path, files, change):
    settings = {"n_words": 30, "iterations": 2}
    killed_after(5, files, tmp_path / "state", **settings)
    if not change:
        files = write_keypoints(tmp_path / "others", [image[::-1] for image in IMAGES], SPLITS[1])
    fresh, found = (train(files, tmp_path / name, **settings | change) for name in ("fresh", "state"))
    assert found.tobytes() == fresh.tobytes()


def test_an_empty_word_takes_half_of_the_largest_and_stays_where_there_is_nothing_to_split():
    before = np.random.default_rng(0).uniform(1, 100, (6, 128)).astype(np.float32)
    words, counts = before.copy(), np.array([5, 0, 9, 1, 0, 2])
    akm.move_words(akm.State(0, 0, words, (words * counts[:, None]).astype(np.float32), counts))
    # words 1 and 4 are empty; 2 and 0 are the largest
    nudge = np.tile([1, -1], 64) / 1024
    assert words[[1, 4]] == pytest.approx(before[[2, 0]] * (1 + nudge), rel=1e-6)
    assert words[[2, 0]] == pytest.approx(before[[2, 0]] * (1 - nudge), rel=1e-6)
    assert words[[3, 5]] == pytest.approx(before[[3, 5]], rel=1e-6)
    words = before[:3].copy()
    akm.move_words(akm.State(0, 0, words, np.full((3, 128), 7, np.float32), np.array([0, 1, 0])))
    np.testing.assert_array_equal(words, [before[0], np.full(128, 7), before[2]])


def trained_bits(folder):
    """A codebook, words that were trained approximately, and those of a file, for another process to compare."""
    codebook = learn_codebook(normalise(block_counts(1000)), 30, seed=5, n_iterations=5)
    word_index.EXACT_UP_TO = 10
    paths = write_keypoints(Path(folder), IMAGES, SPLITS[1])
    words = train(paths, Path(folder) / "state", 60, iterations=2)
    return bytes(codebook).hex() + bytes(words).hex() + bytes(wd.assign_words(paths[0], words).words).hex()


def test_the_bits_do_not_depend_on_threads(tmp_path):
    before, found = cv2.getNumThreads(), []
    for count in (1, 4):
        cv2.setNumThreads(count)
        found.append((kp.extract_keypoints(texture(0, 200, 150)), cv2.getNumThreads()))
    cv2.setNumThreads(before)
    assert [count for _, count in found] == [1, 4], "OpenCV's are given back"
    assert [part.tobytes() for part in found[0][0]] == [part.tobytes() for part in found[1][0]]
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_words as t; print(t.trained_bits(sys.argv[2]))"
    command = [sys.executable, "-c", code, os.path.dirname(__file__), tmp_path / "there"]
    environment = os.environ | {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3"}
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert there.strip() == trained_bits(tmp_path / "here")
    threads = [faiss.omp_get_max_threads()]
    with one_thread():
        threads.append(faiss.omp_get_max_threads())
    assert [*threads, faiss.omp_get_max_threads()] == [threads[0], 1, threads[0]]


def test_the_index_finds_nearly_all_nearest_words(monkeypatch):
    words, queries = (sift_rows(n, 80, seed).astype(np.float32) for n, seed in ((800, 0), (200, 1)))
    truth = nearest(queries, words)
    recalls = [(word_index.WordIndex(words, n).nearest(queries) == truth).mean() for n in (1, 16, 28)]
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


@pytest.mark.parametrize(("root", "exact_up_to"), [(False, 0), (True, 100)])
def test_every_descriptor_gets_its_nearest_word(tmp_path, root, exact_up_to, monkeypatch):
    monkeypatch.setattr(wd, "BATCH", 16)
    monkeypatch.setattr(word_index, "EXACT_UP_TO", exact_up_to)  # 16 lists are all of them
    path = write_keypoints(tmp_path, IMAGES, [[4, 1, 0]])[0]
    vectors = as_vectors(load_descriptors(path), root)
    codebook = vectors[np.random.default_rng(0).permutation(91)[:20]] * np.float32(1.01)
    found = wd.assign_words(path, codebook, root=root)
    np.testing.assert_array_equal(found.words, nearest(vectors, codebook))
    assert (found.words.dtype, found.positions.shape) == (np.int32, (91, 2))
    assert (found.image_ids.tolist(), found.offsets.tolist()) == ([4, 1, 0], [0, 1, 1, 91])


N_WORDS = 7
NONE = np.empty(0, np.int32), np.empty((0, 2), np.float32)
BOX = ["query", "image_id", "x_min", "y_min", "x_max", "y_max"]


def write_words(folder, *shards):
    """Write a file of words for each {image id: rows of word, x and y}."""
    tables = {i: np.array(rows, np.float32).reshape(-1, 3) for images in shards for i, rows in images.items()}
    found = {i: (table[:, 0].astype(np.int32), table[:, 1:]) for i, table in tables.items()}
    return write_shards(folder, wd.WordShard, NONE, found, [*map(list, shards)])


@pytest.mark.parametrize("n_files", [1, 3])
def test_counts_are_those_of_an_image_and_of_a_rectangle(tmp_path, n_files):
    """The edges of a rectangle are inside."""
    rng = np.random.default_rng(n_files)
    ids = rng.permutation(10)[:6].tolist()
    sizes = dict(zip(ids, (0, 1, 12, 9, 12, 5), strict=True))
    images = {i: rng.integers(0, [N_WORDS, 6, 6], (n, 3)).tolist() for i, n in sizes.items()}
    paths = write_words(tmp_path, *({i: images[i] for i in ids[n::n_files]} for n in range(n_files)))
    boxes = np.sort(rng.integers(-1, 7, (30, 2, 2)), axis=1).reshape(-1, 4).tolist()
    queries = [(f"q{row}", ids[row % 6], *box) for row, box in enumerate(boxes)]
    of_images, of_queries = np.zeros((10, N_WORDS), np.int32), np.zeros((len(queries), N_WORDS), np.int32)
    for image_id, rows in images.items():
        of_images[image_id] = np.bincount([word for word, _, _ in rows], minlength=N_WORDS)
    for row, (_, image_id, x_min, y_min, x_max, y_max) in enumerate(queries):
        inside = [word for word, x, y in images[image_id] if x_min <= x <= x_max and y_min <= y <= y_max]
        of_queries[row] = np.bincount(inside, minlength=N_WORDS)
    found = wd.count_query_words(paths, pd.DataFrame(queries, columns=BOX), N_WORDS)
    for counts, expected in ((wd.count_words(paths, 10, N_WORDS), of_images), (found, of_queries)):
        np.testing.assert_array_equal(counts.toarray(), expected)
        assert (counts.dtype, counts.has_sorted_indices, counts.has_canonical_format) == (np.int32, True, True)
        assert counts.nnz == np.count_nonzero(expected)


QUERIES = pd.DataFrame([("all_souls_1", 1, 0, 0, 2, 2), ("keble_3", 4, 0, 0, 2, 2)], columns=BOX)
MISFITS = {
    "1001 words cannot be learned from 1000 descriptors: give": lambda files, to: train(files, to, 1001),
    "raise `max_descriptors`": lambda files, to: train(files, to, 100, max_descriptors=50),
    "a word 7, but .* has words 0 to 6": lambda _, to: wd.count_words(write_words(to, {0: [(7, 1, 1)]}), 3, N_WORDS),
    "keble_3 have no words": lambda _, to: wd.count_query_words(write_words(to, {1: []}), QUERIES, N_WORDS),
    "an image is in two files of words": lambda _, to: wd.count_words(2 * write_words(to, {0: []}), 3, N_WORDS),
    "images that are not in the manifest": lambda _, to: wd.count_words(write_words(to, {3: []}), 3, N_WORDS),
}


@pytest.mark.parametrize("sentence", MISFITS)
def test_what_does_not_fit_is_refused(tmp_path, files, sentence):
    with pytest.raises(LookalikeError, match=sentence):
        MISFITS[sentence](files, tmp_path)
    assert wd.count_words([], 3, N_WORDS).nnz == 0  # without files


def manifest(n, folder="oxbuild_images"):
    rows = [(number, f"{folder}/all_souls_{number:06d}.jpg", "ok") for number in range(n)]
    return pd.DataFrame(rows, columns=["image_id", "path", "status"])


def write_published(folder, number, rows, prefix="oxc1_"):
    """Write the word file of an image from rows (word, x, y)."""
    lines = ["1.0", str(len(rows)), *(f"{word} {x:.6g} {y:.6g} 1 2 3" for word, x, y in rows), ""]
    (folder / f"{prefix}all_souls_{number:06d}.txt").write_text("\n".join(lines))


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(1, 100)), *rng.uniform(0, 1024, 2).round(2)) for _ in range(n)]


@pytest.mark.parametrize(("prefix", "first_id"), [("oxc1_", 0), ("", 1)])
def test_words_are_read_from_either_numbering_and_naming(tmp_path, prefix, first_id):
    """Only the last image tells the numbering; a shard without it must use it all the same."""
    images = [rows_of(40, 0), [], rows_of(25, 2), [(100 * first_id, 5.5, 6.25)]]
    (folder := tmp_path / "word_oxc1").mkdir()
    for number, rows in enumerate(images):
        write_published(folder, number, rows, prefix)
    (tmp_path / "README2.txt").write_text("the list of images\n")
    rows, calls = pd.concat([manifest(4), manifest(1, "no").assign(path="no/file.jpg", status="unreadable")]), []
    shard = read_published_words(tmp_path, rows, 0, 1, n_words=100, progress=lambda *done: calls.append(done))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    every = np.array([row for rows in images for row in rows])
    expected = np.arange(4, dtype=np.int32), np.array([0, 40, 40, 65, 66]), (every[:, 0] - first_id).astype(np.int32)
    for found, part in zip(shard, (*expected, every[:, 1:].astype(np.float32)), strict=True):
        np.testing.assert_array_equal(found, part, strict=True)
    part = read_published_words(tmp_path, rows, 0, 2, n_words=100)
    np.testing.assert_array_equal(part.words, shard.words[:65])


WHOLE, NOT_NUMBERS = "1.0\n1\n0 1 1 1 2 3\n", r"000000\.txt is damaged \(.* a whole number and five numbers\): unpack"
SPOILT = [
    ({"oxc1_": WHOLE + "12 3.5 one 1 2 3"}, r"000000\.txt is damaged \(.*\): unpack"),
    ({"oxc1_": WHOLE + "12 3.5 nan 1 2 3"}, NOT_NUMBERS),
    ({"oxc1_": WHOLE + "1.5 3.5 1 1 2 3"}, NOT_NUMBERS),
    ({"oxc1_": WHOLE + "101 1 1 1 1 1"}, r"000000\.txt has words outside 0 to 99"),
    ({"oxc1_": "1.0"}, "it ends within its header"),
    ({"oxc1_": WHOLE, "": WHOLE}, "are words of the same image: delete one"),
]


@pytest.mark.parametrize(("files", "sentence"), SPOILT)
def test_a_file_with_a_wrong_line_or_of_no_one_image_is_named(tmp_path, files, sentence):
    for prefix, text in files.items():
        (tmp_path / f"{prefix}all_souls_000000.txt").write_text(text)
    with pytest.raises(LookalikeError, match=sentence):
        read_published_words(tmp_path, manifest(1), 0, 1, n_words=100)
    twice = pd.concat([manifest(1), manifest(1, "paris").assign(image_id=1)])
    with pytest.raises(LookalikeError, match="would share a word file" if len(files) < 2 else sentence):
        read_published_words(tmp_path, twice, 0, 1)


def test_one_image_of_many_may_have_no_file(tmp_path):
    for number in range(1, 120):
        write_published(tmp_path, number, [(number, 1, 1)])
    with pytest.warns(UserWarning, match="no words are published for oxbuild_images/all_souls_000000"):
        shard = read_published_words(tmp_path, manifest(120), 0, 1)
    assert shard.image_ids.tolist() == list(range(1, 120))
    with pytest.raises(LookalikeError, match="31 of 150 images have no word file"):
        read_published_words(tmp_path, manifest(150), 0, 1)


def blobs(places, width=200, height=120, sigma=4.0):
    """A grey image with a bright round spot at each place."""
    y, x = np.mgrid[:height, :width]
    grey = np.full((height, width), 40.0)
    for centre_x, centre_y in places:
        grey += 180 * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * sigma**2))
    return np.repeat(grey.round().astype(np.uint8)[:, :, None], 3, axis=2)


@pytest.mark.parametrize(("height", "max_side"), [(480, 300), (150, 300)])
def test_positions_and_sizes_are_in_pixels_of_the_full_size_image(height, max_side):
    """At a height of 150, rounding makes the factors of width and height differ."""
    places = [(120.0, height / 2), (480.0, height * 0.7), (600.0, height * 0.3)]
    image = blobs(places, 800, height, sigma=12)
    full, small = (kp.extract_keypoints(image, SiftSettings(max_side=side)) for side in (0, max_side))
    for place in places:
        near = [found.sizes[np.abs(found.positions - place).max(axis=1) < 0.4] for found in (full, small)]
        assert near[0].max() == pytest.approx(near[1].max(), rel=0.1)


def test_the_strongest_are_kept_in_the_order_of_all():
    def found(**settings):
        keypoints = kp.extract_keypoints(texture(0, 160, 120), SiftSettings(**settings))
        return [row.tobytes() for row in np.column_stack([keypoints.positions, keypoints.sizes])]

    rows, kept = found(), found(n_max=20)
    assert len(kept) == 20 < len(rows) > len(found(contrast_threshold=0.15))
    assert [row for row in rows if row in kept] == kept
    spots = blobs([(40.0, 60.0), (150.0, 60.0)])
    spots[:, :95] = 40 + (spots[:, :95] - 40) // 3  # the left spot is fainter
    assert kp.extract_keypoints(spots, SiftSettings(n_max=1)).positions[0] == pytest.approx([150, 60], abs=1)


PALETTE = np.random.default_rng(7).integers(0, 256, (20, 3)).astype(np.float32)


def blocks(manifest, root, shard, n_shards, progress=None):
    return descriptors.describe_shard(shard_of(manifest, shard, n_shards), root, PALETTE, progress)


def points(manifest, root, shard, n_shards, progress=None):
    return kp.extract_shard(root, manifest, shard, n_shards, progress=progress)


@pytest.mark.parametrize(
    ("kind", "find", "find_in"),
    [
        (descriptors.Blocks, blocks, lambda image: (descriptors.describe(image, PALETTE),)),
        (kp.KeypointShard, points, kp.extract_keypoints),
    ],
)
def test_shards_hold_what_is_found_in_every_usable_image(tmp_path, kind, find, find_in):
    images = {"a class/a.png": texture(0, 224, 230), "blank.png": flat(128), "b.png": texture(1, 300, 200)}
    manifest = write_images(tmp_path, images, first_id=4)
    manifest.loc[2, "status"] = "clutter"
    manifest.loc[3] = [7, "broken.png", "", "unreadable"]
    counted, file = [], tmp_path / "deep" / "shard.npz"
    whole = find(manifest, tmp_path, 0, 1, lambda *done: counted.append(done))
    save_shard(whole, file)
    assert counted == [(1, 3), (2, 3), (3, 3)]
    assert whole[0].tolist() == [4, 5, 6]
    assert np.diff(whole.offsets)[1] == 0  # the blank one keeps its range
    for image, start, stop in zip(images.values(), whole.offsets, whole.offsets[1:], strict=False):
        for joined, part in zip(whole[2:], find_in(image), strict=True):
            np.testing.assert_array_equal(joined[start:stop], part, strict=True)
    for before, after in zip(whole, load_shard(kind, file), strict=True):
        np.testing.assert_array_equal(before, after, strict=True)
    assert [find(manifest, tmp_path, number, 2)[0].tolist() for number in range(2)] == [[4, 6], [5]]
    assert [len(part) for part in find(manifest.iloc[3:], tmp_path, 0, 1)][:3] == [0, 1, 0]
    Image.fromarray(texture(2, 300, 200)).save(tmp_path / "b.png")  # another one of the same size
    with pytest.raises(LookalikeError, match=r"b\.png was changed since the folder was scanned"):
        find(manifest, tmp_path, 0, 1)
