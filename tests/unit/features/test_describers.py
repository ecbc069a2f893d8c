from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb
from lookalike.features import describers
from lookalike.features.clustering import one_thread

SMALL = {
    "wavelet": {"side": 32, "kept": 16},
    "color": {"bins": (4, 8, 8)},
    "sift-like": {"n_words": 16},
    "fisher": {"n_gaussians": 2},
    "hog": {"side": 64},
    "spmk-texton-1024-max": {"n_textons": 8},
}
DISTANCES = {
    "l1": lambda a, b: np.abs(a - b).sum(),
    "l2": lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    "chi2": lambda a, b: ((a - b) ** 2 / np.maximum(a + b, 1e-12)).sum() / 2,
    "cosine": lambda a, b: 1 - a @ b / np.sqrt((a @ a) * (b @ b)),
}


def texture(seed, width=90, height=70):
    """Coloured noise at several scales."""
    rng = np.random.default_rng(seed)
    image = np.zeros((height, width, 3))
    for scale in (1, 2, 4, 8, 16, 32):
        noise = rng.integers(0, 256, (height // scale + 1, width // scale + 1, 3), dtype=np.uint8)
        image += np.asarray(Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)) * scale**0.7
    image -= image.min()
    return (image * (255 / image.max())).astype(np.uint8)


def distance(describer, a, b):
    return DISTANCES[describer.distance](np.float64(describer.describe(a)), np.float64(describer.describe(b)))


@pytest.fixture(scope="module", params=describers.DESCRIBERS)
def fitted(request):
    describer = describers.make_describer(request.param, **SMALL[request.param])
    return describer.fit([texture(seed) for seed in range(12)], random_state=0)


def test_registry_names_the_six_baselines_of_table_1():
    assert list(describers.DESCRIBERS) == list(SMALL)
    for system in describers.DESCRIBERS:
        cls = describers.describer_class(system)
        assert cls.system == system
        assert cls.distance in DISTANCES
        assert cls.title


@pytest.mark.parametrize(("short", "system"), [("colour", "color"), ("texton", "spmk-texton-1024-max")])
def test_short_names(short, system):
    assert describers.make_describer(short).system == system


@pytest.mark.parametrize("shape", [(70, 90), (90, 70), (400, 300), (12, 10), (1, 1), (20, 600)])
def test_every_describer_takes_images_of_all_sizes(fitted, shape):
    vector = fitted.describe(texture(1, *shape))
    assert vector.shape == (fitted.n_dimensions,)
    assert vector.dtype == np.float32
    assert np.isfinite(vector).all()


@pytest.mark.parametrize("grey", [0, 128, 255])
def test_every_describer_takes_constant_images(fitted, grey):
    assert np.isfinite(fitted.describe(np.full((70, 90, 3), grey, np.uint8))).all()


def test_an_image_is_nearest_to_itself_then_to_a_slight_change_of_it(fitted):
    image = texture(5)
    slight = np.clip(image + np.random.default_rng(0).normal(0, 2, image.shape), 0, 255).astype(np.uint8)
    same, near, far = (distance(fitted, image, other) for other in (image, slight, texture(6)))
    assert same == pytest.approx(0, abs=1e-6)
    assert same < near < far


def test_describing_is_deterministic_and_leaves_the_image_alone(fitted):
    image = texture(3)
    before = image.copy()
    first = fitted.describe(image)
    fitted.describe(texture(4))
    np.testing.assert_array_equal(fitted.describe(image), first)
    # a view with strides of its own holds the same pixels
    view = np.ascontiguousarray(image.transpose(1, 0, 2)).transpose(1, 0, 2)
    np.testing.assert_array_equal(fitted.describe(view), first)
    np.testing.assert_array_equal(image, before)


def test_the_same_seed_fits_the_same(fitted):
    images = [texture(seed) for seed in range(12)]
    again = type(fitted)(**fitted.settings()).fit(iter(images), random_state=0)
    np.testing.assert_array_equal(again.describe(texture(9)), fitted.describe(texture(9)))
    if fitted.needs_fit:
        other = type(fitted)(**fitted.settings()).fit(images, random_state=1)
        assert not np.array_equal(other.describe(texture(9)), fitted.describe(texture(9)))


def test_what_is_not_fitted_says_so(fitted):
    fresh = type(fitted)(**fitted.settings())
    if fitted.needs_fit:
        with pytest.raises(RuntimeError, match="fit"):
            fresh.describe(texture(0))
        with pytest.raises(LookalikeError):
            fresh.fit([], random_state=0)
    else:
        assert fresh.fit([], random_state=0) is fresh
        np.testing.assert_array_equal(fresh.describe(texture(0)), fitted.describe(texture(0)))


def test_settings_can_be_written_down(fitted):
    settings = json.loads(json.dumps(fitted.settings()))
    assert type(fitted)(**settings).settings() == fitted.settings()


@pytest.mark.parametrize("bad", [np.zeros((40, 40), np.uint8), np.zeros((40, 40, 3)), np.zeros((0, 40, 3), np.uint8)])
def test_what_is_not_rgb_is_refused(fitted, bad):
    with pytest.raises(ValueError, match="RGB"):
        fitted.describe(bad)


def test_files_are_described_like_images_and_missing_ones_are_nan(fitted, tmp_path):
    paths = [tmp_path / f"{seed}.png" for seed in range(6)]
    for seed, path in enumerate(paths):
        Image.fromarray(texture(seed)).save(path)
    told = []
    one, seconds = describers.describe_files(
        fitted, [*paths[:2], None, *paths[2:]], progress=lambda *done: told.append(done)
    )
    assert seconds > 0
    assert told == [(n, 7) for n in range(1, 8)]
    assert np.isnan(one[2]).all()
    with one_thread():  # as `describe_files` has it: BLAS adds up in another order with more
        each = [fitted.describe(load_rgb(path)) for path in paths]
    np.testing.assert_array_equal(one[[0, 1, 3, 4, 5, 6]], each)
    three, _ = describers.describe_files(fitted, [*paths[:2], None, *paths[2:]], n_threads=3)
    np.testing.assert_array_equal(three, one)


def test_an_unreadable_file_stops_describing(tmp_path):
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    with pytest.raises(LookalikeError, match=r"broken\.jpg"):
        describers.describe_files(describers.make_describer("color"), [tmp_path / "broken.jpg"])


def test_mistakes_are_named():
    with pytest.raises(LookalikeError, match="no describer 'gist'"):
        describers.make_describer("gist")
    with pytest.raises(LookalikeError, match="n_textons"):
        describers.make_describer("texton", textons=3)


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("wavelet", {"side": 100}),
        ("wavelet", {"side": 16}),
        ("wavelet", {"n_coefficients": 0}),
        ("color", {"bins": (4, 14)}),
        ("color", {"bins": (4, 0, 14)}),
        ("hog", {"side": 100}),
        ("hog", {"n_orientations": 0}),
        ("texton", {"n_textons": 0}),
        ("texton", {"step": 16}),
    ],
)
def test_settings_that_mean_nothing_are_refused(system, settings):
    with pytest.raises(LookalikeError):
        describers.make_describer(system, **settings)


@pytest.mark.parametrize(
    ("height", "width", "longest", "expected"),
    [
        (300, 400, 256, (192, 256)),
        (100, 200, 256, (100, 200)),
        (300, 400, 0, (300, 400)),
        (1000, 20, 256, (256, 32)),
        (4, 8, 256, (32, 32)),
    ],
)
def test_fit_within(height, width, longest, expected):
    assert describers.fit_within(np.zeros((height, width, 3), np.uint8), longest).shape == (*expected, 3)


def test_resize_averages_areas_even_when_the_other_side_grows():
    stripes = np.zeros((8, 64, 3), np.uint8)
    stripes[:, ::2] = 200
    # nearest neighbours would keep 0 or 200
    assert np.unique(describers.resize(stripes, 16, 32)).tolist() == [100]
