"""SIFT keypoints: where they are, which are kept, RootSIFT; and the files of keypoints and blocks of many images."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp
from made_features import flat, texture, write_images
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.schema import SiftSettings
from lookalike.features import descriptors
from lookalike.features import keypoints as kp
from lookalike.features.shards import load_shard, save_shard, shard_of


def blobs(places, width=200, height=120, sigma=4.0):
    """A grey image with a bright round spot at each place."""
    y, x = np.mgrid[:height, :width]
    grey = np.full((height, width), 40.0)
    for centre_x, centre_y in places:
        grey += 180 * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * sigma**2))
    return np.repeat(grey.round().astype(np.uint8)[:, :, None], 3, axis=2)


@pytest.mark.parametrize(("height", "max_side"), [(480, 300), (150, 300)])
def test_positions_and_sizes_are_in_pixels_of_the_full_size_image(height, max_side):
    """At a height of 150, rounding makes the factors of width and height differ."""
    places = [(120.0, height / 2), (480.0, height * 0.7), (600.0, height * 0.3)]
    image = blobs(places, 800, height, sigma=12)
    full, small = (kp.extract_keypoints(image, SiftSettings(max_side=side)) for side in (0, max_side))
    for place in places:
        near = [found.sizes[np.abs(found.positions - place).max(axis=1) < 0.4] for found in (full, small)]
        assert near[0].max() == pytest.approx(near[1].max(), rel=0.1)


def test_the_strongest_are_kept_in_the_order_of_all():
    def found(**settings):
        keypoints = kp.extract_keypoints(texture(0, 160, 120), SiftSettings(**settings))
        return [row.tobytes() for row in np.column_stack([keypoints.positions, keypoints.sizes])]

    rows, kept = found(), found(n_max=20)
    assert len(kept) == 20 < len(rows) > len(found(contrast_threshold=0.15))
    assert [row for row in rows if row in kept] == kept
    spots = blobs([(40.0, 60.0), (150.0, 60.0)])
    spots[:, :95] = 40 + (spots[:, :95] - 40) // 3  # the left spot is fainter
    assert kp.extract_keypoints(spots, SiftSettings(n_max=1)).positions[0] == pytest.approx([150, 60], abs=1)


def test_threads_do_not_matter_and_are_given_back():
    before, found = cv2.getNumThreads(), []
    for threads in (1, 4):
        cv2.setNumThreads(threads)
        found.append((kp.extract_keypoints(texture(0, 200, 150)), cv2.getNumThreads()))
    cv2.setNumThreads(before)
    assert [threads for _, threads in found] == [1, 4]
    assert [part.tobytes() for part in found[0][0]] == [part.tobytes() for part in found[1][0]]


@settings(max_examples=10, deadline=None)
@given(hnp.arrays(np.uint8, (4, 128)))
def test_root_sift_is_the_hellinger_kernel(descriptors):
    roots = kp.as_vectors(descriptors, root=True)
    shares = descriptors / np.maximum(descriptors.astype(np.float64).sum(axis=1, keepdims=True), 1)
    expected = np.sqrt(shares[:, None, :] * shares[None]).sum(axis=2)
    np.testing.assert_allclose(roots.astype(np.float64) @ roots.T, expected, atol=1e-5)
    plain = kp.as_vectors(descriptors, root=False)
    np.testing.assert_array_equal(plain, descriptors)
    assert plain.dtype == roots.dtype == np.float32


PALETTE = np.random.default_rng(7).integers(0, 256, (20, 3)).astype(np.float32)


def blocks(manifest, root, shard, n_shards, progress=None):
    return descriptors.describe_shard(shard_of(manifest, shard, n_shards), root, PALETTE, progress)


def points(manifest, root, shard, n_shards, progress=None):
    return kp.extract_shard(root, manifest, shard, n_shards, progress=progress)


@pytest.mark.parametrize(
    ("kind", "find", "find_in"),
    [
        (descriptors.Blocks, blocks, lambda image: (descriptors.describe(image, PALETTE),)),
        (kp.KeypointShard, points, kp.extract_keypoints),
    ],
)
def test_shards_hold_what_is_found_in_every_usable_image(tmp_path, kind, find, find_in):
    images = {"a class/a.png": texture(0, 224, 230), "blank.png": flat(128), "b.png": texture(1, 300, 200)}
    manifest = write_images(tmp_path, images, first_id=4)
    manifest.loc[2, "status"] = "clutter"
    manifest.loc[3] = [7, "broken.png", "", "unreadable"]
    counted, file = [], tmp_path / "deep" / "shard.npz"
    whole = find(manifest, tmp_path, 0, 1, lambda *done: counted.append(done))
    save_shard(whole, file)
    assert counted == [(1, 3), (2, 3), (3, 3)]
    assert whole[0].tolist() == [4, 5, 6]
    assert np.diff(whole.offsets)[1] == 0  # the blank one keeps its range
    for image, start, stop in zip(images.values(), whole.offsets, whole.offsets[1:], strict=False):
        for joined, part in zip(whole[2:], find_in(image), strict=True):
            np.testing.assert_array_equal(joined[start:stop], part, strict=True)
    for before, after in zip(whole, load_shard(kind, file), strict=True):
        np.testing.assert_array_equal(before, after, strict=True)
    assert [find(manifest, tmp_path, number, 2)[0].tolist() for number in range(2)] == [[4, 6], [5]]
    assert [len(part) for part in find(manifest.iloc[3:], tmp_path, 0, 1)][:3] == [0, 1, 0]
    Image.fromarray(texture(2, 300, 200)).save(tmp_path / "b.png")  # another one of the same size
    with pytest.raises(LookalikeError, match=r"b\.png was changed since the folder was scanned"):
        find(manifest, tmp_path, 0, 1)
