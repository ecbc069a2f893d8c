from __future__ import annotations

import numpy as np
import pytest

from lookalike.features.hog import Hog


def stripes(angle, size=128, period=16):
    """Grey waves whose gradient points to `angle` degrees."""
    y, x = np.mgrid[:size, :size]
    along = x * np.cos(np.radians(angle)) + y * np.sin(np.radians(angle))
    grey = 128 + 100 * np.sin(2 * np.pi * along / period)
    return np.repeat(grey.round().astype(np.uint8)[:, :, None], 3, axis=2)


def blocks(vector, side=128, cell=8):
    n = side // cell - 1
    return vector.reshape(n, n, 4, 9)


def test_size_is_that_of_dalal_and_triggs():
    assert Hog().n_dimensions == 15 * 15 * 4 * 9
    # their window of 64 x 128 has 3780 numbers, a square of 64 has 7 x 7 blocks
    assert Hog(side=64).n_dimensions == 7 * 7 * 36


def test_a_constant_image_has_no_gradient():
    assert not Hog().describe(np.full((90, 120, 3), 77, np.uint8)).any()


def test_blocks_are_unit_vectors():
    image = np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8)
    vector = Hog().describe(image)
    norms = np.linalg.norm(vector.reshape(-1, 36), axis=1)
    # OpenCV adds 0.001 to the clipped vector's length, which is a little below 1
    np.testing.assert_allclose(norms, 1, atol=1.5e-3)
    assert vector.min() >= 0


@pytest.mark.parametrize("angle", [10, 50, 90, 130, 170])
def test_the_orientation_of_stripes_fills_its_bin(angle):
    # OpenCV's bins of 20 degrees are centred on 10, 30, ...
    histogram = blocks(Hog().describe(stripes(angle))).sum(axis=(0, 1, 2))
    assert histogram.argmax() == angle // 20


def test_contrast_and_its_sign_do_not_count_and_turning_does():
    hog = Hog()
    image = stripes(10)
    a = hog.describe(image)
    # square-root gamma bends a change of contrast, L2-Hys takes the rest
    weaker = hog.describe((image // 2 + 20).astype(np.uint8))
    turned = hog.describe(np.ascontiguousarray(np.rot90(image)))
    assert np.linalg.norm(a - weaker) < 0.2 * np.linalg.norm(a)
    assert np.linalg.norm(a - hog.describe(255 - image)) < 0.2 * np.linalg.norm(a)
    assert np.linalg.norm(a - turned) > 1.2 * np.linalg.norm(a)


def test_a_shift_by_a_cell_moves_the_blocks():
    image = np.random.default_rng(1).integers(0, 256, (16, 17, 3), dtype=np.uint8)
    image = np.kron(image, np.ones((8, 8, 1), np.uint8))
    left, right = (blocks(Hog().describe(np.ascontiguousarray(part))) for part in (image[:, :128], image[:, 8:]))
    # OpenCV orders blocks column by column; borders differ
    np.testing.assert_allclose(left[2:-1, 1:-1], right[1:-2, 1:-1], atol=1e-5)
    assert np.abs(left - right).max() > 0.1
