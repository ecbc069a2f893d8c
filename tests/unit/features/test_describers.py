"""One contract of everything that turns an image into a vector, and the registry that names it."""

import json
import threading
from contextlib import suppress

import numpy as np
import pytest
import scipy.sparse as sp
from made_features import flat, texture
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.images import shrink
from lookalike.core.resizing import fit_within, resize
from lookalike.features import bag_of_visterms, describers, palette
from lookalike.features.clustering import one_thread
from lookalike.features.keypoints import extract_keypoints

SMALL = {"visterms": {"words": 16, "longest_side": 256}, "wavelet": {"side": 32, "kept": 16}}
SMALL |= {"color": {"bins": (4, 8, 8)}, "sift-like": {"n_words": 16}, "fisher": {"n_gaussians": 2}}
SMALL |= {"hog": {"side": 64}, "spmk-texton-1024-max": {"n_textons": 8}}
IMAGES = [texture(seed) for seed in range(12)]


def describer_of(system, **settings):
    own = system == "visterms"
    return bag_of_visterms.BagOfVisterms(**settings) if own else describers.make_describer(system, **settings)


@pytest.fixture(scope="module", params=SMALL)
def fitted(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bag_of_visterms, "N_PIXELS", 4000)
        yield describer_of(request.param, **SMALL[request.param]).fit(IMAGES, random_state=0)


def test_the_registry_names_the_six_baselines_of_table_1():
    assert ["visterms", *describers.DESCRIBERS] == list(SMALL)
    assert [describer_of(name).distance for name in SMALL] == ["cosine", "l1", "chi2", "l1", "l2", "l2", "l1"]
    short_names = {"colour": "color", "sift": "sift-like", "texton": "spmk-texton-1024-max"}
    for name, system in (dict.fromkeys(SMALL) | short_names).items():
        assert describer_of(name).system == (system or name)
    with pytest.raises(LookalikeError, match="no describer 'gist'"):
        describers.make_describer("gist")
    with pytest.raises(LookalikeError, match="n_textons"):
        describers.make_describer("texton", textons=3)


@pytest.mark.filterwarnings("error")
def test_an_image_of_any_size_gives_a_finite_vector(fitted):
    sizes = [texture(1, *size) for size in [(70, 90), (300, 400), (10, 12), (1, 1), (600, 20)]]
    for image in (*sizes, *map(flat, (0, 128, 255))):
        vector = fitted.describe(image)
        assert (vector.shape, vector.dtype) == ((fitted.n_dimensions,), np.float32)
        assert np.isfinite(vector).all(), image.shape


def test_many_images_are_described_like_each_in_any_order_and_weighed_to_unit_length(fitted):
    many = fitted.stacked([fitted.describe(image) for image in IMAGES])
    fitted.fit_weights(many)
    like = type(fitted)(**fitted.settings())
    like.restore(fitted.arrays())
    rows = like.weigh(many)
    many, rows = (np.asarray(table.toarray() if sp.issparse(table) else table) for table in (many, rows))
    # a view with strides of its own holds the same pixels
    again = [fitted.describe(np.repeat(image, 2, axis=0)[::2]) for image in IMAGES[::-1]]
    np.testing.assert_array_equal(many, again[::-1])
    np.testing.assert_array_equal(IMAGES[0], texture(0))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    if fitted.distance in ("l1", "chi2"):  # distances are Hellinger's
        np.testing.assert_allclose(rows**2, np.abs(many) / np.abs(many).sum(axis=1, keepdims=True), atol=1e-5)


def test_what_was_learned_follows_from_the_seed_and_can_be_written_down(fitted):
    settings = json.loads(json.dumps(fitted.settings()))
    fresh, again, other = (type(fitted)(**settings) for _ in range(3))
    assert fresh.settings() == fitted.settings()
    assert fresh.arrays() == {}
    if not fitted.needs_fit:
        assert fitted.arrays() == {}
        assert fresh.fit([], random_state=0) is fresh
    else:
        with pytest.raises(RuntimeError, match="fit"):
            fresh.describe(IMAGES[0])
        with pytest.raises(LookalikeError):
            fresh.fit([], random_state=0)
        fresh.restore(fitted.arrays())
        other.fit(IMAGES, random_state=1)
        assert not np.array_equal(other.describe(texture(20)), fitted.describe(texture(20)))
    again.fit(iter(IMAGES), random_state=0)
    large = texture(30, 400, 300)  # is brought to size before it is learned from
    whole, small = (type(fitted)(**settings).fit([image], 0).arrays() for image in (large, fit_within(large, 256)))
    for name, array in whole.items():
        np.testing.assert_array_equal(small[name], array)
    for like in (fresh, again):
        np.testing.assert_array_equal(like.describe(texture(20)), fitted.describe(texture(20)))


RGB_BYTES = "expected uint8 RGB pixels"
NOT_RGB = [np.zeros((40, 40), np.uint8), np.zeros((40, 40, 4), np.uint8), np.zeros((40, 40, 3)), flat(0, 40, 0)]


@pytest.mark.parametrize("bad", NOT_RGB, ids=lambda bad: f"{bad.dtype} {bad.shape}")
def test_what_is_not_rgb_is_refused_in_one_sentence(fitted, bad):
    with pytest.raises(ValueError, match=RGB_BYTES):
        fitted.describe(bad)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_files_are_described_like_images_missing_ones_are_nan_and_broken_ones_stop(fitted, tmp_path, n_threads):
    paths = [tmp_path / f"{seed}.png" for seed in range(3)]
    for path, image in zip(paths, IMAGES, strict=False):
        Image.fromarray(image).save(path)
    counted = []
    wanted = [paths[0], None, *paths[1:]]
    vectors, seconds = describers.describe_files(fitted, wanted, n_threads, lambda *done: counted.append(done))
    assert seconds > 0
    assert counted == [(n, 4) for n in range(1, 5)]
    assert np.isnan(vectors[1]).all()
    with one_thread():  # as `describe_files` has it: BLAS adds up in another order with more
        each = [fitted.describe(image) for image in IMAGES[:3]]
    np.testing.assert_array_equal(vectors[[0, 2, 3]], each)
    paths[1].write_bytes(paths[0].read_bytes()[:60])
    with pytest.raises(LookalikeError, match=r"1\.png"):
        describers.describe_files(fitted, paths)


MEANINGLESS = {
    "visterms": ({"words": 1}, {"words": 10_001}),
    "wavelet": ({"side": 100}, {"side": 16}, {"n_coefficients": 0}, {"kept": 0}),
    "color": ({"bins": (4, 14)}, {"bins": (4, 0, 14)}, {"longest_side": -1}),
    "hog": ({"side": 100}, {"n_orientations": 0}, {"cell": 1}),
    "texton": ({"n_textons": 0}, {"step": 16}, {"longest_side": -1}),
    "sift": ({"step": 0}, {"sizes": ()}, {"sizes": (3,)}, {"least_contrast": -1.0}, {"least_contrast": np.nan}),
    "sift-like": ({"grids": ()}, {"n_words": 0}, {"n_per_image": 0}),
    "fisher": ({"n_components": 129}, {"power": 0.0}, {"n_gaussians": 0}),
}


@pytest.mark.parametrize(("system", "settings"), [(name, wrong) for name in MEANINGLESS for wrong in MEANINGLESS[name]])
def test_settings_that_mean_nothing_are_refused(system, settings):
    with pytest.raises(LookalikeError):
        describer_of(system, **settings)


def learned_from(images, system, **settings):
    return lambda: describer_of(system, **settings).fit(images, 0)


TOO_FEW = r"cannot be learned from \d+ descriptors: give more images"
REFUSED = [
    (TOO_FEW, learned_from(IMAGES[:1], "sift", n_words=5000)),
    (TOO_FEW, learned_from(IMAGES[:1], "fisher", n_gaussians=5000)),
    (TOO_FEW, learned_from(IMAGES[:1], "texton")),
    (TOO_FEW, learned_from(IMAGES[:1], "visterms", words=5000)),
    ("no textured patch", learned_from([flat(9)], "sift")),
    ("0..255: learn it again", lambda: palette.palette_keys(np.full((2, 3), 256.0))),
    (RGB_BYTES, lambda: extract_keypoints(NOT_RGB[0])),
    ("only 19 .*--representation hog", lambda: palette.learn_palette(np.tile(np.uint8(range(19))[:, None], (9, 3)))),
]


@pytest.mark.parametrize(("sentence", "call"), REFUSED)
def test_too_few_images_other_pixels_and_damaged_palettes_are_a_users_mistake(sentence, call):
    with pytest.raises((LookalikeError, ValueError), match=sentence):
        call()


@pytest.mark.parametrize("system", ["sift", "texton"])
def test_a_grid_that_would_fill_the_memory_is_refused(system, monkeypatch):
    settings = {"longest_side": 0, "n_words": 4} if system == "sift" else {"n_textons": 4}
    describer = describer_of(system, step=1, **settings).fit(IMAGES, 0)
    monkeypatch.setattr(describers, "MOST_PLACES", 3000)
    with pytest.raises(LookalikeError, match=r"an image has [\d,]+ places to describe, more than 3,000"):
        describer.describe(texture(3, 90, 91))


def test_images_are_brought_to_size_by_averages():
    sizes = {(300, 400): (192, 256), (100, 200): (100, 200), (1000, 20): (256, 32), (4, 8): (32, 32)}
    assert [fit_within(flat(0, *size[::-1]), 256).shape[:2] for size in sizes] == [*sizes.values()]
    assert fit_within(flat(0, 400, 300), 0).shape == (300, 400, 3)
    stripes = flat(0, 64, 8)
    stripes[:, ::2] = 200
    assert np.unique([resize(stripes, 16, 32), resize(shrink(stripes, 32), 16, 32)]).tolist() == [100]
    assert shrink(stripes, 64) is stripes


def test_an_interruption_waits_for_the_images_begun_and_no_other():
    begun, go_on = [], threading.Event()

    def work(number):
        begun.append(number)
        go_on.wait(10)

    with suppress(KeyboardInterrupt), describers.thread_pool(1) as pool:
        pool.map(work, range(50))
        threading.Timer(0.05, go_on.set).start()
        raise KeyboardInterrupt
    assert len(begun) <= 1
