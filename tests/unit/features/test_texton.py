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
    np.testing.assert_allclose(bank.sum(axis=(1, 2)), np.arange(38) == 36, atol=1e-5)
    np.testing.assert_allclose(np.abs(bank).sum(axis=(1, 2)), 1, atol=1e-5)
    sign = np.where(np.arange(38) < 18, -1, 1)[:, None, None]
    np.testing.assert_allclose(bank[:, ::-1, ::-1], sign * bank, atol=1e-7)


def test_responses_are_those_of_a_convolution(fitted):
    image = texture(3, 64, 64)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float64)
    grey = (grey - grey.mean()) / grey.std()
    maps = np.array(
        [cv2.filter2D(grey, -1, np.float64(kernel), borderType=cv2.BORDER_REFLECT_101) for kernel in mr8_filters()]
    )
    edges, bars = np.abs(maps[:18]).reshape(3, 6, 64, 64), maps[18:36].reshape(3, 6, 64, 64)
    eight = np.concatenate([edges.max(axis=1), bars.max(axis=1), maps[36:]])
    size = np.sqrt((eight**2).sum(axis=0))
    expected = eight * np.log(1 + size / 0.03) / size
    rows, columns = np.array([0, 5, 31, 63, 40]), np.array([0, 60, 31, 63, 2])
    np.testing.assert_allclose(fitted.responses(image, rows, columns), expected[:, rows, columns].T, atol=1e-4)


def test_responses_do_not_depend_on_brightness_contrast_or_a_quarter_turn(fitted):
    # an even number of grey levels apart, so that halving is exact
    image = texture(4, 64, 64) // 2 * 2
    rows, columns = np.arange(4, 60, 7), np.arange(60, 4, -7)
    plain = fitted.responses(image, rows, columns)
    np.testing.assert_allclose(fitted.responses(image // 2 + 40, rows, columns), plain, atol=0.15)
    # six orientations are 30 degrees apart, so a quarter turn maps the bank onto itself
    turned = fitted.responses(np.ascontiguousarray(np.rot90(image)), 63 - columns, rows)
    np.testing.assert_allclose(turned, plain, atol=1e-3)


@pytest.mark.parametrize("n_levels", [1, 2, 3, 4])
def test_vectors_are_pyramids_weighted_like_lazebniks_that_sum_to_one(n_levels):
    describer = TextonPyramid(n_textons=16, n_levels=n_levels, step=2, n_nearest=1)
    vector = describer.fit([texture(seed) for seed in range(5)], random_state=0).describe(texture(20))
    assert vector.sum() == pytest.approx(1, abs=1e-5)
    assert vector.min() >= 0
    parts = np.split(vector, 16 * np.cumsum([4**level for level in range(n_levels - 1)]))
    levels = [part.reshape(2**level, 2**level, 16) for level, part in enumerate(parts)]
    weights = [0.5 ** (n_levels - max(level, 1)) for level in range(n_levels)]
    for level in range(1, n_levels):
        # a cell has the largest of the four below it
        largest = levels[level].reshape(2 ** (level - 1), 2, 2 ** (level - 1), 2, 16).max(axis=(1, 3))
        np.testing.assert_allclose(levels[level - 1] / weights[level - 1], largest / weights[level], rtol=1e-4)
    # one nearest texton is hard assignment: it is there or it is not
    assert len(np.unique(levels[-1].round(6))) <= 2


def test_a_constant_image_has_one_kind_of_pixel_in_every_cell(fitted):
    vector = fitted.describe(flat(99)).reshape(21, 16)
    assert (np.count_nonzero(vector, axis=1) <= fitted.n_nearest).all()
    np.testing.assert_allclose(vector[5:], np.broadcast_to(vector[5], (16, 16)), rtol=1e-5)


def test_halves_swapped_change_cells_more_than_the_whole(fitted):
    image = np.concatenate([texture(1)[:, :45], texture(2)[:, :45] // 8], axis=1)
    a, b = (fitted.describe(part).reshape(21, 16) for part in (image, np.roll(image, 45, axis=1)))
    change = np.abs(a - b).sum(axis=1)
    assert change[5:].sum() / a[5:].sum() > 2 * change[0] / a[0].sum()


def test_at_most_so_many_pixels_are_clustered(monkeypatch):
    seen = []
    monkeypatch.setattr(texton, "learn_codebook", lambda pixels, n, *_, **__: seen.append(pixels) or pixels[:n].copy())
    TextonPyramid(n_textons=4, n_learning_pixels=70, pixels_per_image=30).fit([texture(s) for s in range(4)], 0)
    assert seen[0].shape == (70, texton.N_RESPONSES)
