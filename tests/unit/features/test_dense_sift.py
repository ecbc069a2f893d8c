"""Dense SIFT: where the patches are, what is flat, and that it is the descriptor that OpenCV makes."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.features.dense_sift import DenseSift, _contrast, _grid


class Sift(DenseSift):
    """Dense SIFT that describes nothing as a whole."""

    n_dimensions = 0
    _describe = None


def noise(height: int = 64, width: int = 96, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(("side", "size", "step"), [(96, 16, 8), (97, 16, 8), (64, 64, 4), (50, 17, 7)])
def test_patches_lie_inside_and_are_centred(side: int, size: int, step: int) -> None:
    xs = np.unique(_grid((side, side), size, step)[:, 0])
    left, right = xs[0] - (size - 1) / 2, side - 1 - (xs[-1] + (size - 1) / 2)
    assert left >= 0
    assert right >= 0
    assert abs(left - right) <= 1
    assert (np.diff(xs) == step).all()
    assert left + right < step


def test_a_size_larger_than_the_image_gives_one_patch_in_its_middle() -> None:
    np.testing.assert_array_equal(_grid((32, 40), 64, 8), [[19.5, 15.5]])
    vectors, places = Sift(sizes=(64,)).descriptors(noise(32, 40))
    np.testing.assert_allclose(places, [[0.5, 0.5]])
    assert vectors.any()


def test_a_descriptor_is_of_its_own_patch() -> None:
    sift = Sift(step=8, sizes=(16,), root=False)
    image = noise()
    before, places = sift.descriptors(image)
    changed = image.copy()
    changed[:, 60:] = 255 - changed[:, 60:]  # contrast turned round: gradients too
    same = (before == sift.descriptors(changed)[0]).all(axis=1)
    x = places[:, 0] * 96
    assert same[x < 60 - 24].all()
    assert not same[x > 60].any()


def test_a_gradient_upwards_is_not_one_to_the_right() -> None:
    ramp = np.repeat(np.linspace(0, 255, 64).astype(np.uint8)[:, None], 64, axis=1)
    sift = Sift(step=16, sizes=(32,), root=False)
    down, right = (sift.descriptors(np.stack([grey] * 3, 2))[0][0] for grey in (ramp, ramp.T))
    orientations = [vector.reshape(16, 8).sum(axis=0).argmax() for vector in (down, right)]
    assert (orientations[0] - orientations[1]) % 8 in (2, 6)


def test_the_contrast_is_that_of_the_patch() -> None:
    grey = np.random.default_rng(0).normal(size=(40, 50)).astype(np.float32)
    centres = _grid(grey.shape, 12, 5)
    expected = [
        grey[round(y - 5.5) : round(y - 5.5) + 12, round(x - 5.5) : round(x - 5.5) + 12].std() for x, y in centres
    ]
    np.testing.assert_allclose(_contrast(grey, centres, 12), expected, rtol=1e-5)


def test_flat_patches_are_zeros_and_give_no_words() -> None:
    image = noise()
    image[:, :48] = 128
    vectors, places = Sift(sizes=(16,)).descriptors(image)
    flat = ~vectors.any(axis=1)
    assert flat[places[:, 0] * 96 < 48 - 10].all()
    assert not flat[places[:, 0] * 96 > 48 + 10].any()
    assert Sift(sizes=(16,), n_per_image=1000).sample([image], 0).any(axis=1).all()
    with pytest.raises(LookalikeError, match="no textured patch"):
        Sift().sample([np.full((64, 64, 3), 9, np.uint8)], 0)


def test_rootsift_has_unit_rows_and_is_the_root_of_sift() -> None:
    plain, root = (Sift(root=root).descriptors(noise())[0] for root in (False, True))
    np.testing.assert_allclose(root**2 * plain.sum(axis=1, keepdims=True), plain, atol=1e-3)


def test_sampling_keeps_its_bounds_and_its_seed() -> None:
    images = [noise(seed=seed) for seed in range(4)]
    sift = Sift(n_per_image=20, n_descriptors=50)
    first = sift.sample(iter(images), 1)
    assert first.shape == (50, 128)
    np.testing.assert_array_equal(first, sift.sample(images, 1))
    assert not np.array_equal(first, sift.sample(images, 2))
    assert len(Sift(n_per_image=10).sample(images, 1)) == 40


@pytest.mark.parametrize("settings", [{"step": 0}, {"sizes": ()}, {"sizes": (3,)}, {"least_contrast": -1.0}])
def test_settings_that_mean_nothing_are_refused(settings: dict) -> None:
    with pytest.raises(LookalikeError):
        Sift(**settings)
