"""Textons: the filter bank, its responses, and the pyramid of soft assignments."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from made_features import flat, texture

from lookalike.features import texton
from lookalike.features.texton import TextonPyramid, mr8_filters


@pytest.fixture(scope="module")
def fitted():
    return TextonPyramid(n_textons=16).fit([texture(seed) for seed in range(10)], random_state=0)


def test_filters_are_those_of_mr8():
    bank = mr8_filters()
    assert bank.shape == (38, 49, 49)
    sums = bank.sum(axis=(1, 2))
    assert sums[36] == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(np.delete(sums, 36), 0, atol=1e-6)
    np.testing.assert_allclose(np.abs(bank).sum(axis=(1, 2)), 1, atol=1e-5)
    half_turn = bank[:, ::-1, ::-1]
    np.testing.assert_allclose(half_turn[:18], -bank[:18], atol=1e-7)
    np.testing.assert_allclose(half_turn[18:], bank[18:], atol=1e-7)


def test_responses_are_those_of_a_convolution(fitted):
    image = texture(3, 64, 64)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float64)
    grey = (grey - grey.mean()) / grey.std()
    maps = np.array(
        [cv2.filter2D(grey, -1, np.float64(kernel), borderType=cv2.BORDER_REFLECT_101) for kernel in mr8_filters()]
    )
    eight = np.concatenate(
        [np.abs(maps[:18]).reshape(3, 6, 64, 64).max(axis=1), maps[18:36].reshape(3, 6, 64, 64).max(axis=1), maps[36:]]
    )
    size = np.sqrt((eight**2).sum(axis=0))
    expected = eight * np.log(1 + size / 0.03) / size
    rows, columns = np.array([0, 5, 31, 63, 40]), np.array([0, 60, 31, 63, 2])
    np.testing.assert_allclose(fitted.responses(image, rows, columns), expected[:, rows, columns].T, atol=1e-4)


def test_responses_do_not_depend_on_brightness_contrast_or_a_quarter_turn(fitted):
    # an even number of pixels apart, so that halving is exact
    image = texture(4, 64, 64) // 2 * 2
    rows, columns = np.arange(4, 60, 7), np.arange(60, 4, -7)
    plain = fitted.responses(image, rows, columns)
    grey = np.repeat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)[:, :, None], 3, axis=2)
    np.testing.assert_allclose(fitted.responses(grey, rows, columns), plain, atol=1e-4)
    dim = (grey // 2 + 40).astype(np.uint8)
    np.testing.assert_allclose(fitted.responses(dim, rows, columns), plain, atol=0.15)
    # six orientations are 30 degrees apart, so a quarter turn maps the bank onto itself
    turned = fitted.responses(np.ascontiguousarray(np.rot90(image)), 63 - columns, rows)
    np.testing.assert_allclose(turned, plain, atol=1e-3)


def test_vectors_are_weighted_pyramids_that_sum_to_one(fitted):
    vector = fitted.describe(texture(20))
    assert vector.shape == (21 * 16,)
    assert vector.sum() == pytest.approx(1, abs=1e-5)
    assert vector.min() >= 0
    whole, quarters, cells = np.split(vector, [16, 5 * 16])
    quarters, cells = quarters.reshape(2, 2, 16), cells.reshape(4, 4, 16)
    # the largest of the cells below; weights are 1/4, 1/4, 1/2
    np.testing.assert_allclose(whole, quarters.max(axis=(0, 1)), rtol=1e-5)
    np.testing.assert_allclose(2 * quarters, cells.reshape(2, 2, 2, 2, 16).max(axis=(1, 3)), rtol=1e-5)


@pytest.mark.parametrize(("n_levels", "weights"), [(1, [1]), (2, [1 / 2, 1 / 2]), (4, [1 / 8, 1 / 8, 1 / 4, 1 / 2])])
def test_level_weights_are_those_of_lazebnik(n_levels, weights):
    describer = TextonPyramid(n_textons=1, n_levels=n_levels, step=2)
    n = 2 ** (n_levels - 1)
    vector = describer._pyramid(np.ones((n, n, 1), np.float32))
    sums = [part.sum() for part in np.split(vector, np.cumsum([4**level for level in range(n_levels - 1)]))]
    expected = np.array(weights) * 4.0 ** np.arange(n_levels)
    np.testing.assert_allclose(sums, expected / expected.sum(), rtol=1e-5)


def test_a_constant_image_has_one_pixel_kind_in_every_cell(fitted):
    vector = fitted.describe(flat(99)).reshape(21, 16)
    assert (np.count_nonzero(vector, axis=1) <= fitted.n_nearest).all()
    np.testing.assert_allclose(vector[5:], np.broadcast_to(vector[5], (16, 16)), rtol=1e-5)
    assert vector[0].sum() > 0


def test_only_one_nearest_texton_is_hard_assignment():
    describer = TextonPyramid(n_textons=16, n_nearest=1).fit([texture(seed) for seed in range(5)], random_state=0)
    vector = describer.describe(texture(9)).reshape(21, 16)
    assert len(np.unique(vector[0].round(6))) <= 2


def test_halves_swapped_change_cells_more_than_the_whole(fitted):
    image = np.concatenate([texture(1)[:, :45], texture(2)[:, :45] // 8], axis=1)
    swapped = np.concatenate([image[:, 45:], image[:, :45]], axis=1)
    a, b = (fitted.describe(part).reshape(21, 16) for part in (image, swapped))
    change = np.abs(a - b).sum(axis=1)
    assert change[5:].sum() / a[5:].sum() > 2 * change[0] / a[0].sum()


def test_at_most_so_many_pixels_are_clustered(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "lookalike.features.texton.learn_codebook",
        lambda pixels, n, seed, **rest: seen.append(pixels) or pixels[:n].copy(),
    )
    TextonPyramid(n_textons=4, n_learning_pixels=70, pixels_per_image=30).fit([texture(s) for s in range(4)], 0)
    assert seen[0].shape == (70, texton.N_RESPONSES)
