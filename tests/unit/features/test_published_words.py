"""The published words of the Oxford buildings: either numbering, any white space, and mistakes named by line."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.features.published_words import read_published_words


def manifest(n, folder="oxbuild_images"):
    rows = [(number, f"{folder}/all_souls_{number:06d}.jpg", "ok") for number in range(n)]
    return pd.DataFrame(rows, columns=["image_id", "path", "status"])


def write(folder, number, rows, prefix="oxc1_", line="%d %.6g %.6g 0.00123 -4.5e-05 0.002", end="\n"):
    """Write the word file of an image from rows (word, x, y)."""
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / f"{prefix}all_souls_{number:06d}.txt"
    path.write_bytes(("\n".join(["1.0", str(len(rows)), *(line % tuple(row) for row in rows)]) + end).encode())
    return path


def rows_of(n, seed, low=1, high=99):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(low, high + 1)), *rng.uniform(0, 1024, 2).round(2)) for _ in range(n)]


@pytest.mark.parametrize("prefix", ["oxc1_", ""])
@pytest.mark.parametrize("first_id", [0, 1])
def test_words_are_read_from_either_numbering_and_naming(tmp_path, prefix, first_id):
    """Only the last image tells the numbering; a shard without it must use it all the same."""
    images = [rows_of(40, 0), [], rows_of(25, 2), [(100 * first_id, 5.5, 6.25)]]
    for number, rows in enumerate(images):
        write(tmp_path / "word_oxc1", number, rows, prefix)
    (tmp_path / "README2.txt").write_text("the list of images\n")
    rows = pd.concat([manifest(4), manifest(1, "no").assign(path="no/file.jpg", status="unreadable")])
    calls = []
    shard = read_published_words(tmp_path, rows, 0, 1, n_words=100, progress=lambda *done: calls.append(done))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    everything = np.array([row for rows in images for row in rows])
    np.testing.assert_array_equal(shard.words, everything[:, 0] - first_id)
    np.testing.assert_array_equal(shard.positions, everything[:, 1:].astype(np.float32))
    assert shard.offsets.tolist() == [0, 40, 40, 65, 66]
    assert [part.dtype for part in shard] == [np.int32, np.int64, np.int32, np.float32]
    part = read_published_words(tmp_path, rows, 0, 2, n_words=100)
    assert part.image_ids.tolist() == [0, 2]
    np.testing.assert_array_equal(part.words, shard.words[:65])


@pytest.mark.parametrize(
    ("line", "end"),
    [("%d\t%g %g 1 2 3", "\n"), ("%d %g  %g 1 2 3 ", " \n"), (" %d %g %g 1 2 3", ""), ("%d %g %g 1 2 3\r", "\r\n\n")],
)
def test_any_white_space_separates(tmp_path, line, end):
    write(tmp_path / "plain", 0, rows_of(20, 0))
    write(tmp_path / "other", 0, rows_of(20, 0), line=line.replace("%g", "%.6g"), end=end)
    plain, other = (read_published_words(tmp_path / name, manifest(1), 0, 1) for name in ("plain", "other"))
    for ours, theirs in zip(plain, other, strict=True):
        np.testing.assert_array_equal(ours, theirs)


MALFORMED = [
    *("12 3.5 4", "12 3.5 4 1 2 3 4", "x 3.5 4 1 2 3", "1.5 3.5 4 1 2 3", "12 3.5 nan 1 2 3", "12 3.5 4 1 2 inf"),
    *("12 3.5 4 1 2 ?", '"12" 3.5 4 1 2 3', "12 3.5 4 1 2 \xff"),
]


@pytest.mark.parametrize(
    ("wrong", "first_id", "sentence"),
    [(line, None, 'expected "word x y a b c", six numbers, and found .*unpack the archive') for line in MALFORMED]
    + [
        (f"{word} 1 1 1 1 1", first_id, f"word {word} is outside {first_id or 0} to")
        for word, first_id in ((101, 1), (0, 1), (-3, 1), (100, 0), (2**63, None))
    ],
)
def test_a_wrong_line_is_named(tmp_path, wrong, first_id, sentence):
    path = write(tmp_path, 0, rows_of(9, 0))
    lines = path.read_text().splitlines()
    lines[6] = wrong
    path.write_text("\n".join(lines) + "\n", encoding="latin-1")
    with pytest.raises(LookalikeError, match=f"{re.escape(str(path))}, line 7: {sentence}"):
        read_published_words(tmp_path, manifest(1), 0, 1, n_words=100, first_id=first_id)


@pytest.mark.parametrize("content", ["", "1.0\n", "1.0"])
def test_a_file_cut_short_in_its_header_is_an_error(tmp_path, content):
    write(tmp_path, 0, []).write_text(content)
    with pytest.raises(LookalikeError, match="ends within its header"):
        read_published_words(tmp_path, manifest(1), 0, 1)


def test_one_image_of_many_may_have_no_file(tmp_path):
    for number in range(1, 120):
        write(tmp_path, number, [(number, 1, 1)])
    with pytest.warns(UserWarning, match="no words are published for oxbuild_images/all_souls_000000"):
        shard = read_published_words(tmp_path, manifest(120), 0, 1)
    assert shard.image_ids.tolist() == list(range(1, 120))
    with pytest.raises(LookalikeError, match="31 of 150 images have no word file"):
        read_published_words(tmp_path, manifest(150), 0, 1)


def test_an_image_has_one_file_and_a_file_one_image(tmp_path):
    write(tmp_path, 0, [(1, 1, 1)])
    images = pd.concat([manifest(1, "one"), manifest(1, "two")], ignore_index=True)
    with pytest.raises(LookalikeError, match=r"one/all_souls_000000\.jpg and two/all_souls_000000\.jpg would share"):
        read_published_words(tmp_path, images, 0, 1)
    write(tmp_path, 0, [(2, 1, 1)], prefix="")
    with pytest.raises(LookalikeError, match="words of the same image"):
        read_published_words(tmp_path, manifest(1), 0, 1)
