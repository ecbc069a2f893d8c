from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb
from lookalike.features import keypoints as kp
from lookalike.features import shards


def blobs(places, width=200, height=120, sigma=4.0):
    """A grey image with a bright round spot at each place."""
    y, x = np.mgrid[:height, :width]
    grey = np.full((height, width), 40.0)
    for centre_x, centre_y in places:
        grey += 180 * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * sigma**2))
    return np.repeat(grey.round().astype(np.uint8)[:, :, None], 3, axis=2)


def noise(width=160, height=120, seed=0):
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (height // 8, width // 8, 3), dtype=np.uint8))
    return np.asarray(small.resize((width, height), Image.Resampling.BICUBIC))


@pytest.fixture
def folder(tmp_path):
    """Images a, blank, b and a damaged one, with their manifest."""
    images = {"a.png": noise(), "blank.png": np.full((90, 70, 3), 128, np.uint8), "b.png": noise(120, 100, seed=1)}
    for name, image in images.items():
        Image.fromarray(image).save(tmp_path / name)
    rows = [(i, name, images[name].shape[1], images[name].shape[0], "ok") for i, name in enumerate(images)]
    rows.append((3, "broken.png", 0, 0, "unreadable"))
    return tmp_path, pd.DataFrame(rows, columns=["image_id", "path", "width", "height", "status"])


def test_keypoints_lie_on_the_spots_in_x_and_y():
    places = [(40.0, 30.0), (120.3, 80.6), (160.0, 25.5)]
    found = kp.extract_keypoints(blobs(places))
    strongest = found.positions[found.sizes > 6]
    for place in places:
        assert np.abs(strongest - place).max(axis=1).min() < 0.3


@pytest.mark.parametrize("max_side", [400, 300])
def test_positions_and_sizes_are_in_pixels_of_the_full_size_image(max_side):
    places = [(120.0, 80.0), (480.0, 350.0), (600.0, 120.0)]
    image = blobs(places, 800, 480, sigma=12)
    full, small = (kp.extract_keypoints(image, kp.SiftSettings(max_side=side)) for side in (0, max_side))
    for place in places:
        near = [found.sizes[np.abs(found.positions - place).max(axis=1) < 1] for found in (full, small)]
        assert near[0].max() == pytest.approx(near[1].max(), rel=0.1)


def test_an_image_without_a_keypoint_has_none():
    found = kp.extract_keypoints(np.full((50, 60, 3), 200, np.uint8))
    assert [part.shape for part in found] == [(0, 128), (0, 2), (0,)]
    assert [part.dtype for part in found] == [np.uint8, np.float32, np.float32]


def test_only_the_strongest_are_kept():
    image = noise()
    everything = kp.extract_keypoints(image)
    few = kp.extract_keypoints(image, kp.SiftSettings(n_max=20))
    assert len(few.sizes) == 20 < len(everything.sizes)
    rows = {row.tobytes() for row in np.column_stack([everything.positions, everything.sizes])}
    assert {row.tobytes() for row in np.column_stack([few.positions, few.sizes])} <= rows
    fewer = kp.extract_keypoints(image, kp.SiftSettings(contrast_threshold=0.15))
    assert len(fewer.sizes) < len(everything.sizes)


def test_the_strongest_are_those_of_most_contrast():
    image = blobs([(40.0, 60.0), (150.0, 60.0)]).astype(np.float64)
    image[:, :95] = 40 + (image[:, :95] - 40) / 3  # the left spot is fainter
    found = kp.extract_keypoints(image.astype(np.uint8), kp.SiftSettings(n_max=1))
    assert found.positions[0] == pytest.approx([150, 60], abs=1)


def test_threads_do_not_matter_and_are_given_back():
    import cv2

    image = noise(400, 300)
    before = cv2.getNumThreads()
    results = []
    try:
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            results.append(kp.extract_keypoints(image))
            assert cv2.getNumThreads() == threads
    finally:
        cv2.setNumThreads(before)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("wrong", [{"n_max": -1}, {"max_side": -5}, {"contrast_threshold": float("nan")}])
def test_meaningless_settings_are_refused(wrong):
    with pytest.raises(LookalikeError, match="keypoints must"):
        kp.SiftSettings(**wrong)


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.uint8, (4, 128)))
def test_root_sift_is_the_hellinger_kernel(descriptors):
    roots = kp.root_sift(descriptors).astype(np.float64)
    assert kp.root_sift(descriptors).dtype == np.float32
    sums = np.maximum(descriptors.astype(np.float64).sum(axis=1), 1)
    shares = descriptors / sums[:, None]
    expected = np.sqrt(shares[:, None, :] * shares[None]).sum(axis=2)
    assert roots @ roots.T == pytest.approx(expected, abs=1e-5)
    assert np.linalg.norm(roots, axis=1) == pytest.approx((descriptors.any(axis=1)).astype(float), abs=1e-5)


def test_vectors_are_sift_or_root_sift():
    descriptors = np.arange(256, dtype=np.uint8).reshape(2, 128)
    assert np.array_equal(kp.as_vectors(descriptors, False), descriptors)
    assert kp.as_vectors(descriptors, False).dtype == np.float32
    assert np.array_equal(kp.as_vectors(descriptors, True), kp.root_sift(descriptors))


def test_a_shard_holds_every_usable_image_and_its_file_is_the_same_bytes(folder, tmp_path):
    root, manifest = folder
    calls = []
    shard = kp.extract_shard(root, manifest, 0, 1, progress=lambda done, of: calls.append((done, of)))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert shard.image_ids.tolist() == [0, 1, 2]
    assert np.diff(shard.offsets)[1] == 0  # the blank one keeps its range
    alone = kp.extract_keypoints(load_rgb(root / "b.png"))
    for joined, part in zip(shard[2:], alone, strict=True):
        assert np.array_equal(joined[shard.offsets[2] : shard.offsets[3]], part)
        assert len(part) > 10
    for name in ("one.npz", "two.npz"):
        shards.save_shard(kp.extract_shard(root, manifest, 0, 1), tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    again = shards.load_shard(kp.KeypointShard, tmp_path / "one.npz")
    for ours, theirs in zip(shard, again, strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    assert [len(part) for part in shards.load_index(tmp_path / "one.npz")] == [3, 4]
    assert np.array_equal(kp.load_descriptors(tmp_path / "one.npz"), shard.descriptors)


def test_shards_are_the_whole(folder):
    root, manifest = folder
    whole = kp.extract_shard(root, manifest, 0, 1)
    parts = [kp.extract_shard(root, manifest, number, 2) for number in range(2)]
    assert [part.image_ids.tolist() for part in parts] == [[0, 2], [1]]
    assert sum(len(part.sizes) for part in parts) == len(whole.sizes)
    empty = kp.extract_shard(root, manifest.iloc[3:], 0, 1)
    assert [len(part) for part in empty] == [0, 1, 0, 0, 0]


def test_an_image_that_changed_is_a_users_mistake(folder):
    root, manifest = folder
    Image.fromarray(noise(64, 64)).save(root / "a.png")
    with pytest.raises(LookalikeError, match=r"a\.png has another size"):
        kp.extract_shard(root, manifest, 0, 1)


@pytest.mark.real_images
def test_a_photograph_and_its_half_match(real_images):
    """SIFT is made so that the same spot looks alike in another size: most nearest neighbours lie on the same spot."""
    path = sorted((real_images / "251.airplanes-101").glob("*.jpg"))[0]
    image = load_rgb(path)
    height, width = image.shape[:2]
    half = np.asarray(Image.fromarray(image).resize((width // 2, height // 2), Image.Resampling.BOX))
    large, small = kp.extract_keypoints(image), kp.extract_keypoints(half)
    distances = ((large.descriptors.astype(int)[:, None] - small.descriptors.astype(int)[None]) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=0)  # of each keypoint of the half
    off = np.abs(large.positions[nearest] - (2 * small.positions + 0.5)).max(axis=1)
    assert (off < 3).mean() > 0.5
