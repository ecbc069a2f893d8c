from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.features import published_words as pw

LINE = "%d %.6g %.6g 0.00123 -4.5e-05 0.002"


def manifest(n, folder="oxbuild_images"):
    rows = [(number, f"{folder}/all_souls_{number:06d}.jpg", "ok") for number in range(n)]
    return pd.DataFrame(rows, columns=["image_id", "path", "status"])


def write(folder, number, rows, prefix="oxc1_", line=LINE, end="\n"):
    """Write the word file of an image from rows (word, x, y)."""
    folder.mkdir(exist_ok=True, parents=True)
    lines = ["1.0", str(len(rows)), *(line % tuple(row) for row in rows)]
    path = folder / f"{prefix}all_souls_{number:06d}.txt"
    path.write_bytes(("\n".join(lines) + end).encode())
    return path


def rows_of(n, seed, low=1, high=100):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(low, high + 1)), *rng.uniform(0, 1024, 2).round(2)) for _ in range(n)]


@pytest.mark.parametrize("prefix", ["oxc1_", ""])
@pytest.mark.parametrize("first_id", [0, 1])
def test_words_are_read_from_either_numbering_and_naming(tmp_path, prefix, first_id):
    images = [rows_of(n, n, first_id, first_id + 98) for n in (40, 1, 25)]
    images[2].append((0 if first_id == 0 else 100, 5.5, 6.25))
    for number, rows in enumerate(images):
        write(tmp_path / "word_oxc1", number, rows, prefix)
    (tmp_path / "README2.txt").write_text("the list of images\n")
    calls = []
    shard = pw.read_published_words(
        tmp_path, manifest(3), 0, 1, n_words=100, progress=lambda done, of: calls.append((done, of))
    )
    assert calls == [(1, 3), (2, 3), (3, 3)]
    everything = np.array([row for rows in images for row in rows])
    assert np.array_equal(shard.words, everything[:, 0] - first_id)
    assert np.array_equal(shard.positions, everything[:, 1:].astype(np.float32))
    assert np.array_equal(shard.offsets, [0, 40, 41, 67])
    assert [part.dtype for part in shard] == [np.int32, np.int64, np.int32, np.float32]


def test_shards_number_words_alike(tmp_path):
    """Only the last image tells the numbering; a shard without it must use it all the same."""
    for number in range(4):
        write(tmp_path, number, [(50, 1, 2), (100 if number == 3 else 60, 3, 4)])
    parts = [pw.read_published_words(tmp_path, manifest(4), number, 2, n_words=100) for number in range(2)]
    assert [part.image_ids.tolist() for part in parts] == [[0, 2], [1, 3]]
    assert [part.words.tolist() for part in parts] == [[49, 59, 49, 59], [49, 59, 49, 99]]


def test_an_image_without_descriptors_has_none(tmp_path):
    write(tmp_path, 0, [])
    write(tmp_path, 1, [(3, 1, 1)])
    shard = pw.read_published_words(tmp_path, manifest(2), 0, 1, n_words=10)
    assert shard.offsets.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("line", "end"),
    [("%d\t%g %g 1 2 3", "\n"), ("%d %g  %g 1 2 3 ", " \n"), (" %d %g %g 1 2 3", ""), ("%d %g %g 1 2 3\r", "\r\n\n")],
)
def test_any_white_space_separates(tmp_path, line, end):
    rows = rows_of(20, 0)
    write(tmp_path / "plain", 0, rows)
    write(tmp_path / "other", 0, rows, line=line.replace("%g", "%.6g"), end=end)
    plain, other = (pw.read_published_words(tmp_path / name, manifest(1), 0, 1) for name in ("plain", "other"))
    for ours, theirs in zip(plain, other, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    "wrong",
    ["12 3.5 4", "12 3.5 4 1 2 3 4", "x 3.5 4 1 2 3", "1.5 3.5 4 1 2 3", "12 3.5 nan 1 2 3", "12 3.5 4 1 2 inf",
     "12 3.5 4 1 2 ?", '"12" 3.5 4 1 2 3', "12 3.5 4 1 2 \xff"],
)  # fmt: skip
def test_a_malformed_line_is_named(tmp_path, wrong):
    path = write(tmp_path, 0, rows_of(9, 0))
    lines = path.read_text().splitlines()
    lines[6] = wrong
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    with pytest.raises(LookalikeError, match=rf"{re.escape(str(path))}, line 7: expected .*unpack the archive"):
        pw.read_published_words(tmp_path, manifest(1), 0, 1)


@pytest.mark.parametrize("content", ["", "1.0\n", "1.0"])
def test_a_file_cut_short_in_its_header_is_an_error(tmp_path, content):
    path = write(tmp_path, 0, [])
    path.write_text(content)
    with pytest.raises(LookalikeError, match="ends within its header"):
        pw.read_published_words(tmp_path, manifest(1), 0, 1)


@pytest.mark.parametrize(("word", "first_id"), [(101, 1), (0, 1), (-3, 1), (100, 0), (101, None)])
def test_a_word_outside_the_vocabulary_is_named(tmp_path, word, first_id):
    path = write(
        tmp_path, 0, [*rows_of(4, 0, 100 if first_id is None else 1, 100 if first_id is None else 99), (word, 1, 1)]
    )
    with pytest.raises(LookalikeError, match=rf"{re.escape(str(path))}, line 7: word {word} is outside"):
        pw.read_published_words(tmp_path, manifest(1), 0, 1, n_words=100, first_id=first_id)


def test_one_image_of_many_may_have_no_file(tmp_path):
    for number in range(1, 200):
        write(tmp_path, number, [(number, 1, 1)])
    with pytest.warns(UserWarning, match="no words are published for oxbuild_images/all_souls_000000"):
        shard = pw.read_published_words(tmp_path, manifest(200), 0, 1)
    assert shard.image_ids.tolist() == list(range(1, 200))
    with pytest.raises(LookalikeError, match="101 of 300 images have no word file"):
        pw.read_published_words(tmp_path, manifest(300), 0, 1)


def test_two_files_of_an_image_are_refused(tmp_path):
    write(tmp_path, 0, [(1, 1, 1)])
    write(tmp_path, 0, [(2, 1, 1)], prefix="")
    with pytest.raises(LookalikeError, match="words of the same image"):
        pw.read_published_words(tmp_path, manifest(1), 0, 1)


def test_two_images_of_one_name_are_refused(tmp_path):
    write(tmp_path, 0, [(1, 1, 1)])
    images = pd.concat([manifest(1, "one"), manifest(1, "two")], ignore_index=True)
    with pytest.raises(LookalikeError, match=r"one/all_souls_000000\.jpg and two/all_souls_000000\.jpg would share"):
        pw.read_published_words(tmp_path, images, 0, 1)
    images.loc[1, "status"] = "unreadable"
    assert pw.read_published_words(tmp_path, images, 0, 1).offsets.tolist() == [0, 1]


def test_unusable_images_need_no_file(tmp_path):
    write(tmp_path, 0, [(1, 1, 1)])
    images = manifest(2)
    images.loc[1, "status"] = "unreadable"
    assert pw.read_published_words(tmp_path, images, 0, 1).image_ids.tolist() == [0]
