"""From pixels to weighted visterms: blocks, edges, colours, codebooks, counts, tf-idf, against slow exact versions."""

import math
from fractions import Fraction
from itertools import count, product
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_features import block_counts, nearest, noise, texture, write_blocks, write_images
from PIL import Image
from skimage.feature import local_binary_pattern

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb
from lookalike.core.seeds import generator
from lookalike.features import bag_of_visterms, descriptors, pyramid
from lookalike.features import codebook as cb
from lookalike.features import palette as colours
from lookalike.features.bag_of_visterms import BagOfVisterms, enlarged
from lookalike.features.descriptors import normalise
from lookalike.features.tfidf_rows import inverse_document_frequencies, tfidf_rows

PALETTE = np.random.default_rng(7).integers(0, 256, (20, 3)).astype(np.float32)


@given(width=st.integers(1, 1200), height=st.integers(1, 1200))
@settings(deadline=None, max_examples=60)
def test_a_pyramid_is_as_long_as_its_levels_hold_ten_blocks(width, height):
    """Sides are rounded half up from the original: from the level before, rounding would build up."""

    def size_at(level):
        return tuple(int(Fraction(side) / Fraction(5, 4) ** level + Fraction(1, 2)) for side in (width, height))

    def n_blocks(size):
        return len(range(0, size[0] - 63, 32)) * len(range(0, size[1] - 63, 32))

    sizes = pyramid.level_sizes(width, height)
    assert sizes == [size_at(level) for level in range(len(sizes))]
    assert all(n_blocks(size) >= 10 for size in sizes)
    assert n_blocks(size_at(len(sizes))) < 10
    assert pyramid.is_large_enough(width, height) == bool(sizes)
    assert pyramid.count_blocks(width, height) == sum(map(n_blocks, sizes))
    eighths = next(n for n in count(8) if n_blocks((width * n // 8, height * n // 8)) >= 10)
    assert enlarged(height, width) == (height * eighths // 8, width * eighths // 8)


@pytest.mark.parametrize("kept", [0, 100_000, 10**9])
def test_an_image_that_is_learned_from_is_read_once_and_described_once_as_room_allows(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(bag_of_visterms, "KEPT_BYTES", kept)
    monkeypatch.setattr(bag_of_visterms, "N_PIXELS", 2000)
    manifest = write_images(tmp_path, {f"{seed}.png": texture(seed, 200, 150) for seed in range(4)})
    paths, sums = [tmp_path / path for path in manifest["path"]], manifest["sha256"].tolist()
    reads = Mock(side_effect=load_rgb)
    monkeypatch.setattr(bag_of_visterms, "load_rgb", reads)
    describer = BagOfVisterms(words=8, longest_side=0).fit_files(paths, sums, 5, 1, lambda *_: None)
    assert reads.call_count == {0: 8, 100_000: 7, 10**9: 4}[kept]
    again = BagOfVisterms(words=8, longest_side=0)
    again.restore(describer.arrays())
    for path, name in zip(paths, sums, strict=True):
        np.testing.assert_array_equal(describer.describe_file(path, name), again.describe(load_rgb(path)))


def test_a_palette_finds_well_separated_colours_from_dark_to_light():
    rng = np.random.default_rng(0)
    truth = np.array([[20, 20, 60], [200, 30, 30], [60, 160, 60], [240, 240, 230]])
    pixels = np.clip(truth[rng.integers(4, size=4000)] + rng.integers(-5, 6, (4000, 3)), 0, 255).astype(np.uint8)
    palette = colours.learn_palette(pixels, 4, seed=1)
    assert palette.dtype == np.float32
    assert np.abs(palette - truth).max() < 1
    np.testing.assert_array_equal(palette * 8, np.rint(palette * 8))
    assert colours.learn_palette(pixels, 4, seed=1).tobytes() == palette.tobytes()


def test_pixels_are_drawn_equally_of_each_image_and_do_not_depend_on_the_others(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (4, 30, 40, 3), dtype=np.uint8)
    manifest = write_images(tmp_path, {f"{number}.png": image for number, image in enumerate(images)})
    pool = manifest.iloc[[3, 1]]
    for asked, n in ((39, 20), (99_999, 1200)):
        chosen = [generator(4, "pixels", number).choice(1200, n, replace=False) for number in (1, 3)]
        expected = np.concatenate(
            [images[number].reshape(-1, 3)[own] for number, own in zip((1, 3), chosen, strict=True)]
        )
        np.testing.assert_array_equal(colours.pool_pixels(tmp_path, manifest, pool, asked, seed=4), expected)
    with pytest.raises(LookalikeError, match="no image to learn a palette"):
        colours.pool_pixels(tmp_path, manifest, manifest.iloc[:0], 9, seed=0)


DIRECTIONS = [(0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1)]
F = math.sqrt(2) - 1


def slow_patterns(grey):
    """Interpolate in double precision, whose errors are far below what tells anything apart but exact ties."""
    rows, columns, padded = *grey.shape, np.pad(grey, 2, mode="edge").astype(float)

    def at(dy, dx):
        return padded[2 + dy : 2 + dy + rows, 2 + dx : 2 + dx + columns]

    codes = np.zeros(grey.shape, int)
    for bit, (dy, dx) in enumerate(DIRECTIONS):
        value = at(2 * dy, 2 * dx)
        if bit % 2:
            sides = at(2 * dy, dx) + at(dy, 2 * dx)
            value = (1 - F) ** 2 * at(dy, dx) + F * (1 - F) * sides + F**2 * value
        codes |= (value >= grey - 1e-9) << bit
    return codes


def slow_describe(image, palette):
    """Block by block from the codes of each level, without cells; bins are those of scikit-image."""
    theirs, found = (local_binary_pattern(noise(2, 200, 200)[:, :, 0], 8, 2, way) for way in ("default", "nri_uniform"))
    bin_of = np.full(256, -1)
    bin_of[theirs.astype(int)] = found
    rows = []
    for size in pyramid.level_sizes(*image.shape[1::-1]):
        level = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX))
        # luma of BT.601 in whole numbers
        grey = level @ np.array([19595, 38470, 7471]) + 0x8000 >> 16
        bins = bin_of[slow_patterns(grey)]
        nearest = np.argmin([((level - colour.astype(float)) ** 2).sum(axis=-1) for colour in palette], axis=0)
        for y, x in product(range(0, level.shape[0] - 63, 32), range(0, level.shape[1] - 63, 32)):
            blocks = ((bins, 59), (nearest, len(palette)))
            counts = [np.bincount(found[y : y + 64, x : x + 64].ravel(), minlength=n) for found, n in blocks]
            rows.append(np.concatenate(counts))
    return np.array(rows)


RANDOM = np.random.default_rng(7)
COUNTED = {
    "noise": (noise(300, 300, 200), PALETTE),
    "noise, few colours": (noise(131, 131, 400), PALETTE[:5]),
    "equal neighbours, borders": (
        RANDOM.choice(np.uint8([0, 1, 2, 127, 128, 255]), (192, 224, 1)).repeat(3, 2),
        PALETTE,
    ),
    "equal distances": (
        RANDOM.choice(np.uint8([0, 1, 100, 101, 255]), (192, 224, 3)),
        RANDOM.choice(np.float32([0, 0.125, 50, 100.5, 101, 255]), (128, 3)),
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_counts_are_those_of_block_by_block_counting(name):
    image, palette = COUNTED[name]
    image.flags.writeable = False
    counts = descriptors.describe(image, palette)
    assert counts.dtype == np.uint16
    np.testing.assert_array_equal(counts, slow_describe(image, palette))
    view = np.repeat(image, 2, axis=1)[:, ::2]  # with strides of its own
    np.testing.assert_array_equal(descriptors.describe(view, palette), counts)


IMAGES = {number: block_counts(size, seed=number) for number, size in enumerate([5, 0, 12, 7, 1, 20])}
SPLITS = [[[0, 1, 2, 3, 4, 5]], [[0, 1], [2, 3, 4], [], [5]], [[5, 3], [4, 0, 2, 1]]]
"""The same images in one file and in several."""


def test_samples_and_counts_do_not_depend_on_the_files(tmp_path):
    codebook = cb.learn_codebook(normalise(np.concatenate(list(IMAGES.values()))), 8, seed=0)
    rows = np.concatenate([IMAGES[2], IMAGES[5]])
    expected = rows[np.sort(np.random.default_rng(3).choice(len(rows), 15, replace=False))]  # in the order of images
    for number, split in enumerate(SPLITS):
        paths = write_blocks(tmp_path / str(number), IMAGES, split)
        sample, everything = (cb.sample_descriptors(paths, [5, 1, 2], n, np.random.default_rng(3)) for n in (15, 32))
        assert sample.dtype == np.uint16
        np.testing.assert_array_equal(sample, expected)
        np.testing.assert_array_equal(everything, rows)
        counts = cb.count_visterms(paths, codebook, n_rows=9)
        assert (counts.shape, counts.dtype, counts.has_sorted_indices) == ((9, 8), np.int32, True)
        for image, blocks in IMAGES.items():
            words = nearest(np.float32(blocks / 4096), codebook)  # shares of edges, and of colours
            np.testing.assert_array_equal(counts[[image]].toarray()[0], np.bincount(words, minlength=8))
        assert counts[[6, 7, 8]].nnz == 0


def test_a_codebook_uses_every_descriptor_and_its_seed_and_lowers_the_distortion():
    descriptors = normalise(block_counts(1000))

    def distortion(codebook):
        return ((descriptors - codebook[cb.assign(descriptors, codebook)]) ** 2).sum(axis=1).mean()

    # faiss keeps 256 points a centroid unless told: with one centroid the mean would be of 256
    centre = cb.learn_codebook(descriptors, 1, seed=0, n_iterations=3)
    np.testing.assert_allclose(centre[0], descriptors.mean(axis=0, dtype=np.float64), atol=1e-6)
    few, many, other = (cb.learn_codebook(descriptors, 40, s, n_iterations=n) for s, n in ((0, 1), (0, 20), (1, 20)))
    assert distortion(many) < distortion(few)
    assert (many.shape, many.dtype) == ((40, 79), np.float32)
    assert not np.array_equal(many, other)
    assert np.isfinite(cb.learn_codebook(np.repeat(descriptors[:3], 50, axis=0), 10, seed=0)).all()


@given(st.tuples(*(st.integers(1, most) for most in (40, 60, 90, 50))), st.sampled_from(["", "ties", "rounding"]))
@settings(deadline=None, max_examples=60)
def test_the_nearest_word_is_that_of_brute_force_and_the_lowest_of_ties(sizes, hard):
    n, n_words, n_features, batch = sizes
    rng = np.random.default_rng(sizes)
    descriptors, codebook = (rng.random((rows, n_features), dtype=np.float32) for rows in (n, n_words))
    if hard == "ties":
        descriptors, codebook = np.rint(descriptors), np.rint(codebook)
    if hard == "rounding":  # words that differ by less than that of a matrix product
        centre = 10 + descriptors[0]
        descriptors, codebook = (
            centre + np.float32(1e-5) * (rows - np.float32(0.5)) for rows in (descriptors, codebook)
        )
    words = cb.assign(descriptors, codebook, batch=batch)
    assert words.dtype == np.int32
    np.testing.assert_array_equal(words, nearest(descriptors, codebook))


COUNTS = hnp.arrays(np.int32, st.tuples(st.integers(1, 8), st.just(6)), elements=st.integers(0, 3))


@given(train=COUNTS, rows=COUNTS)
@settings(deadline=None, max_examples=25)
def test_weights_are_draft_equation_15(train, rows):
    share = (train > 0).mean(axis=0)
    weights = rows * np.array([-np.log(r) if r > 0 else 0.0 for r in share])
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    expected = np.divide(weights, lengths, out=np.zeros_like(weights), where=lengths > 0)
    places = np.mgrid[: len(train), :6].reshape(2, -1)
    idf = inverse_document_frequencies(sp.csr_array((train.ravel(), places), train.shape))  # with stored zeros
    assert not np.signbit(idf).any()
    counts = sp.csr_array(rows)
    found = tfidf_rows(counts, idf, "float64")
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-15)
    assert found.has_sorted_indices
    assert (found.data > 0).all()
    np.testing.assert_array_equal(counts.toarray(), rows)
    assert tfidf_rows(counts, idf).dtype == np.float32
    # other images do not leak into the weights of one
    np.testing.assert_array_equal(tfidf_rows(counts[:1], idf, "float64").toarray(), found.toarray()[:1])
