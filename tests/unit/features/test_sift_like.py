"""SIFT-like description: word shares in cells, against counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.features.sift_like import SiftLike, _level_weights


def noise(seed: int, height: int = 64, width: int = 80) -> np.ndarray:
    rough = np.random.default_rng(seed).integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8)
    return np.kron(rough, np.ones((4, 4, 1), np.uint8))


@pytest.fixture(scope="module")
def fitted() -> SiftLike:
    return SiftLike(n_words=10, sizes=(16, 24)).fit([noise(seed) for seed in range(6)], 0)


def test_a_vector_is_the_shares_of_nearest_words_in_cells(fitted: SiftLike) -> None:
    image = noise(9)
    image[:, :40] = 30
    vectors, places = fitted.descriptors(image)
    expected = np.zeros((5, 11))
    for vector, (x, y) in zip(vectors, places, strict=True):
        word = np.argmin(((fitted.words_ - vector) ** 2).sum(axis=1)) if vector.any() else 10
        expected[0, word] += 0.5
        expected[1 + 2 * int(y >= 0.5) + int(x >= 0.5), word] += 0.5
    np.testing.assert_allclose(fitted.describe(image), expected.ravel() / len(vectors), atol=1e-6)
    assert fitted.describe(image).shape == (fitted.n_dimensions,)
    assert fitted.describe(image)[10] > 0.1  # the flat half


def test_levels_weigh_as_in_the_pyramid_match() -> None:
    assert _level_weights(3) == [0.25, 0.25, 0.5]
    assert _level_weights(1) == [1.0]


def test_the_whole_image_forgets_where_and_the_quarters_do_not(fitted: SiftLike) -> None:
    a, b = noise(1, 64, 64), noise(2, 64, 64)
    # mirrored halves: words change too, so compare swapped images, whose inner patches are the same
    first, second = np.hstack([a, b]), np.hstack([b, a])
    one, other = fitted.describe(first), fitted.describe(second)
    whole = np.abs(one[:11] - other[:11]).sum()
    quarters = np.abs(one[11:] - other[11:]).sum()
    assert quarters > 1.5 * whole


def test_the_same_seed_gives_the_same_words_and_settings_come_back(fitted: SiftLike) -> None:
    again = SiftLike(**fitted.settings()).fit([noise(seed) for seed in range(6)], 0)
    np.testing.assert_array_equal(again.words_, fitted.words_)
    assert again.n_dimensions == 55


def test_what_is_missing_is_said() -> None:
    with pytest.raises(RuntimeError, match="fit"):
        SiftLike().describe(noise(0))
    with pytest.raises(LookalikeError, match="n_words"):
        SiftLike(n_words=500).fit([noise(0)], 0)
    with pytest.raises(LookalikeError):
        SiftLike(grids=())
