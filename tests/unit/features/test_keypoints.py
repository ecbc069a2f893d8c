"""SIFT keypoints: where they are, which are kept, RootSIFT, and the files of many images."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from made_features import flat, texture

from lookalike.features import keypoints as kp


def blobs(places, width=200, height=120, sigma=4.0):
    """A grey image with a bright round spot at each place."""
    y, x = np.mgrid[:height, :width]
    grey = np.full((height, width), 40.0)
    for centre_x, centre_y in places:
        grey += 180 * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * sigma**2))
    return np.repeat(grey.round().astype(np.uint8)[:, :, None], 3, axis=2)


def test_keypoints_lie_on_the_spots_in_x_and_y():
    places = [(40.0, 30.0), (120.3, 80.6), (160.0, 25.5)]
    found = kp.extract_keypoints(blobs(places))
    strongest = found.positions[found.sizes > 6]
    for place in places:
        assert np.abs(strongest - place).max(axis=1).min() < 0.3


@pytest.mark.parametrize(("height", "max_side"), [(480, 400), (480, 300), (150, 300)])
def test_positions_and_sizes_are_in_pixels_of_the_full_size_image(height, max_side):
    """At a height of 150, rounding makes the factors of width and height differ."""
    places = [(120.0, height / 2), (480.0, height * 0.7), (600.0, height * 0.3)]
    image = blobs(places, 800, height, sigma=12)
    full, small = (kp.extract_keypoints(image, kp.SiftSettings(max_side=side)) for side in (0, max_side))
    for place in places:
        near = [found.sizes[np.abs(found.positions - place).max(axis=1) < 1] for found in (full, small)]
        assert near[0].max() == pytest.approx(near[1].max(), rel=0.1)


@pytest.mark.parametrize("image", [flat(200), flat(0, 1, 1)])
def test_an_image_without_a_keypoint_has_none(image):
    found = kp.extract_keypoints(image)
    assert [part.shape for part in found] == [(0, 128), (0, 2), (0,)]
    assert [part.dtype for part in found] == [np.uint8, np.float32, np.float32]


def test_the_strongest_are_kept_in_the_order_of_all():
    image = texture(0, 160, 120)
    everything = kp.extract_keypoints(image)
    few = kp.extract_keypoints(image, kp.SiftSettings(n_max=20))
    rows = [row.tobytes() for row in np.column_stack([everything.positions, everything.sizes])]
    kept = [row.tobytes() for row in np.column_stack([few.positions, few.sizes])]
    assert len(kept) == 20 < len(rows)
    assert [row for row in rows if row in kept] == kept
    assert len(kp.extract_keypoints(image, kp.SiftSettings(contrast_threshold=0.15)).sizes) < len(rows)
    spots = blobs([(40.0, 60.0), (150.0, 60.0)])
    spots[:, :95] = 40 + (spots[:, :95] - 40) // 3  # the left spot is fainter
    assert kp.extract_keypoints(spots, kp.SiftSettings(n_max=1)).positions[0] == pytest.approx([150, 60], abs=1)


def test_threads_do_not_matter_and_are_given_back():
    before, results = cv2.getNumThreads(), []
    try:
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            results.append(kp.extract_keypoints(texture(0, 200, 150)))
            assert cv2.getNumThreads() == threads
    finally:
        cv2.setNumThreads(before)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))


@settings(max_examples=30, deadline=None)
@given(hnp.arrays(np.uint8, (4, 128)))
def test_root_sift_is_the_hellinger_kernel(descriptors):
    roots = kp.as_vectors(descriptors, root=True)
    shares = descriptors / np.maximum(descriptors.astype(np.float64).sum(axis=1, keepdims=True), 1)
    expected = np.sqrt(shares[:, None, :] * shares[None]).sum(axis=2)
    assert roots.dtype == np.float32
    np.testing.assert_allclose(roots.astype(np.float64) @ roots.T, expected, atol=1e-5)
    plain = kp.as_vectors(descriptors, root=False)
    np.testing.assert_array_equal(plain, descriptors)
    assert plain.dtype == np.float32
