"""Textons: the filter bank, its responses, and the pyramid of soft assignments."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from made_features import texture

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


@pytest.mark.parametrize("n_levels", [1, 3])
def test_a_vector_is_the_largest_soft_share_of_each_texton_in_each_cell(n_levels):
    """Shares fall with the squared distance like a Gaussian; levels weigh like Lazebnik's."""
    describer = TextonPyramid(n_textons=16, n_levels=n_levels).fit([texture(seed) for seed in range(5)], 0)
    image = texture(20)
    height, width = image.shape[:2]
    rows, columns = np.mgrid[2:height:4, 2:width:4].reshape(2, -1)
    squares = ((describer.responses(image, rows, columns)[:, None] - describer.textons) ** 2).sum(axis=2)
    shares = np.exp(-squares / (2 * describer.variance)) * (squares <= np.sort(squares, axis=1)[:, 4:5])
    shares /= shares.sum(axis=1, keepdims=True)
    levels = []
    for level in range(n_levels):
        n = 2**level
        cells = np.zeros((n, n, 16))
        for row, column, share in zip(rows, columns, shares, strict=True):
            cell = cells[row * n // height, column * n // width]
            np.maximum(cell, share, out=cell)
        levels.append(cells.ravel() * 0.5 ** (n_levels - max(level, 1)))
    expected = np.concatenate(levels)
    np.testing.assert_allclose(describer.describe(image), expected / expected.sum(), atol=1e-6)


def test_at_most_so_many_pixels_are_clustered(monkeypatch):
    seen = []
    monkeypatch.setattr(texton, "learn_codebook", lambda pixels, n, *_, **__: seen.append(pixels) or pixels[:n].copy())
    TextonPyramid(n_textons=4, n_learning_pixels=70, pixels_per_image=30).fit([texture(s) for s in range(4)], 0)
    assert seen[0].shape == (70, texton.N_RESPONSES)
