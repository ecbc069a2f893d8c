"""SIFT keypoints: where they are, which are kept, RootSIFT, and the files of many images."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from made_features import flat, nearest, texture, write_images
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb, shrink
from lookalike.features import keypoints as kp
from lookalike.features import shards


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


def test_shards_hold_every_usable_image_and_their_files_are_the_same_bytes(tmp_path):
    images = {"a.png": texture(0, 160, 120), "blank.png": flat(128), "b.png": texture(1, 120, 100)}
    manifest = write_images(tmp_path, images)
    manifest.loc[3] = [3, "broken.png", 0, 0, "unreadable"]
    calls = []
    for name in ("one.npz", "two.npz"):
        whole = kp.extract_shard(tmp_path, manifest, 0, 1, progress=lambda *done: calls.append(done))
        shards.save_shard(whole, tmp_path / name)
    assert calls == [(1, 3), (2, 3), (3, 3)] * 2
    assert whole.image_ids.tolist() == [0, 1, 2]
    assert np.diff(whole.offsets)[1] == 0  # the blank one keeps its range
    for joined, part in zip(whole[2:], kp.extract_keypoints(images["b.png"]), strict=True):
        np.testing.assert_array_equal(joined[whole.offsets[2] : whole.offsets[3]], part)
        assert len(part) > 10
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    for ours, theirs in zip(whole, shards.load_shard(kp.KeypointShard, tmp_path / "one.npz"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(kp.load_descriptors(tmp_path / "one.npz"), whole.descriptors)
    parts = [kp.extract_shard(tmp_path, manifest, number, 2) for number in range(2)]
    assert [part.image_ids.tolist() for part in parts] == [[0, 2], [1]]
    assert [len(part) for part in kp.extract_shard(tmp_path, manifest.iloc[3:], 0, 1)] == [0, 1, 0, 0, 0]
    Image.fromarray(flat(0)).save(tmp_path / "a.png")
    with pytest.raises(LookalikeError, match=r"a\.png has another size"):
        kp.extract_shard(tmp_path, manifest, 0, 1)


def test_a_photograph_and_its_half_match(real_images):
    """SIFT is made so that the same spot looks alike in another size: most nearest neighbours lie on the same spot."""
    image = load_rgb(sorted((real_images / "251.airplanes-101").glob("*.jpg"))[0])
    half = shrink(image, max(image.shape) // 2)
    large, small = kp.extract_keypoints(image), kp.extract_keypoints(half)
    matched = large.positions[nearest(small.descriptors, large.descriptors)]
    assert (np.abs(matched - (2 * small.positions + 0.5)).max(axis=1) < 3).mean() > 0.5
