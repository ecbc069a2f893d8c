"""Descriptions of one's own images and their cache, and learners on rows: what no setting has to be chosen for."""

import hashlib
import os

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike import OASIS, Euclidean, ImageSimilarity
from lookalike.app import representations
from lookalike.app.gallery import export
from lookalike.app.learning import checked_settings, learner_name, stream, train
from lookalike.app.representations import Cache, Workers, make_representation
from lookalike.app.sources import read_images
from lookalike.core.errors import LookalikeError
from lookalike.core.images import load_rgb
from lookalike.features import describers
from lookalike.features.bag_of_visterms import BagOfVisterms
from lookalike.learners.registry import MODULES, learner_class
from lookalike.ranking.rankings import ordered

RANDOM = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 10)
X = RANDOM.normal(size=(30, 6)).astype(np.float32) + 4 * np.eye(3, 6, dtype=np.float32)[np.repeat(range(3), 10)]
TRIPLETS = np.array([(i, (i // 10) * 10 + (i + 1) % 10, (i + 10) % 30) for i in range(30)], np.int32)


@pytest.mark.parametrize("name", ["visterms", "hog", "color", "sift-like", "fisher", "texton"])
def test_rows_do_not_depend_on_jobs_or_on_the_cache(photos, tmp_path, name):
    found = read_images(photos)
    paths, names = (part[:18] for part in found.files)  # more than are described in one go
    settings = {"words": 20} if name == "visterms" else {}

    def fitted(work, where=paths):
        rows = make_representation(name, **settings).fit((where, names), 3, work)
        return rows.toarray() if sp.issparse(rows) else rows

    rows = fitted(Workers())
    gone = [path.with_name("gone.png") for path in paths]  # nothing is read that the cache has
    cache = Cache(tmp_path)
    assert np.array_equal(rows, fitted(Workers(3, cache)))
    assert np.array_equal(rows, fitted(Workers(1, cache), gone))
    kept = {path: path.read_bytes() for path in tmp_path.glob("*/*.kept")}
    first, *_ = kept
    first.write_bytes(kept[first][:500])
    assert np.array_equal(rows, fitted(Workers(2, cache)))
    assert {path: path.read_bytes() for path in kept} == kept  # what was damaged is made again
    with pytest.warns(UserWarning, match="nothing is cached any more") as warned:
        assert np.array_equal(rows, fitted(Workers(cache=Cache(paths[0]))))
    assert len(warned) == 1


def swap(first, second):
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def remove(*paths):
    for path in paths:
        path.unlink()


USES = {
    "fit": lambda model, photos: model.fit(photos),
    "codebook": lambda model, photos: ImageSimilarity(words=20, cache=model._cache._folder, jobs=1).fit(photos),
    "rank": lambda model, photos: model.rank([photos / "red" / "5.png"], photos),
    "index": lambda model, photos: export(model, photos, photos.parent / "exported", to="npy"),
}


@pytest.mark.parametrize(("change", "done"), [(swap, "changed"), (remove, "removed")])
@pytest.mark.parametrize("use", USES)
def test_a_vector_belongs_to_the_bytes_that_were_described(photos, tmp_path, monkeypatch, use, change, done):
    ImageSimilarity("color", parameters={"n_steps": 20}).fit(photos).save(tmp_path / "m.lookalike")
    model = ImageSimilarity.load(tmp_path / "m.lookalike", jobs=1, cache=tmp_path / "cache")
    contents = {hashlib.sha256(path.read_bytes()).hexdigest(): load_rgb(path) for path in photos.glob("*/*.png")}
    with monkeypatch.context() as patch:

        def work_after_a_change(self):
            patch.undo()
            change(photos / "blue" / "0.png", photos / "red" / "0.png")
            return self._work()

        patch.setattr(ImageSimilarity, "_work", work_after_a_change)
        with pytest.raises(LookalikeError, match=rf"0\.png was {done} since it was first read: run the same command"):
            USES[use](model, photos)
    used = USES[use](model, photos)  # and it goes on
    describer = (used if use == "codebook" else model).representation_.describer
    found = [arrays for group in os.listdir(tmp_path / "cache") for arrays in Cache(tmp_path / "cache").read(group)]
    described = [pair for arrays in found for pair in arrays.items() if pair[0] in contents]
    assert len(described) > 10
    for sha256, vector in described:
        assert np.array_equal(vector, describer.describe(contents[sha256]))


NOW = representations.VERSIONS[-1]


@pytest.mark.parametrize(("words", "seed", "version"), [(24, 3, NOW), (20, 4, NOW), (20, 3, "0")])
def test_a_cache_serves_its_own_settings_seed_and_version_alone(photos, tmp_path, monkeypatch, words, seed, version):
    images = tuple(part[:9] for part in read_images(photos).files)
    make_representation("visterms", words=20).fit(images, 3, Workers(cache=Cache(tmp_path / "cache")))
    assert len(list((tmp_path / "cache").iterdir())) == 2  # a codebook and descriptions
    monkeypatch.setattr(representations, "VERSIONS", [*representations.VERSIONS[:-1], version])
    how = [Workers(cache=Cache(folder)) for folder in (tmp_path / "cache", None)]
    cached, again = (make_representation("visterms", words=words).fit(images, seed, workers) for workers in how)
    assert len(list((tmp_path / "cache").iterdir())) == 4
    assert np.array_equal(cached.toarray(), again.toarray())


@pytest.mark.parametrize("name", MODULES)
def test_every_learner_can_be_trained_as_it_is(name):
    rows = np.abs(X) / np.linalg.norm(X, axis=1, keepdims=True)
    quick = {key: 300 for key in ("n_steps", "n_triplets") if key in learner_class(name)().get_params()}
    for kind, given in {"labels": {"y": Y}, "triplets": {"triplets": TRIPLETS}}.items():
        if kind in learner_class(name).accepts:
            assert 0.5 <= ordered(train(name, quick, rows, **given, seed=1), rows, TRIPLETS).mean() <= 1


def test_the_number_of_steps_is_chosen_by_held_out_triplets_of_which_a_tie_is_won_by_half():
    rows = np.array([[0.0], [1.0], [-1.0], [3.0]])
    won = ordered(Euclidean().fit(rows), rows, np.array([[0, 1, 2], [0, 1, 3], [3, 2, 1]], np.int32))
    assert won.tolist() == [0.5, 1.0, 0.0]
    learned = train("OASIS", {}, X, triplets=TRIPLETS, seed=0)
    assert learned.n_steps_ < 35_000
    assert np.array_equal(learned.W_, train("OASIS", {}, X, triplets=TRIPLETS, seed=0).W_)
    noise = RANDOM.normal(size=(30, 6)).astype(np.float32)
    assert train("OASIS", {}, noise, triplets=TRIPLETS, seed=0).n_steps_ < 35_000
    fixed = train("OASIS", {"n_steps": 70}, X, triplets=TRIPLETS, seed=0)
    assert fixed.n_steps_ == 70
    assert np.array_equal(fixed.W_, OASIS(n_steps=70).fit_triplets(X, stream(TRIPLETS, 70, 0)).W_)


def test_settings_of_a_command_line_become_arguments():
    text = {"aggressiveness": "0.03", "n_steps": "500", "projection": "psd", "early_stopping": "false"}
    settings = {"aggressiveness": 0.03, "n_steps": 500, "projection": "psd", "early_stopping": False}
    assert checked_settings("OASIS", text) == settings
    assert checked_settings("LEGO", {"percentiles": "10,90"}) == {"percentiles": (10, 90)}
    assert checked_settings("QPAO", {"upper": "none"}) == {"upper": None}
    assert learner_name("diagonal-oasis") == "DiagonalOASIS"


@pytest.mark.parametrize(("how", "rest"), [({"representation": "color"}, 8), ({"words": 5}, 0)])
def test_the_next_fit_takes_what_an_interrupted_one_has_made(photos, tmp_path, monkeypatch, how, rest):
    how = {"parameters": {"n_steps": 20}, "jobs": 1, **how}
    whole = ImageSimilarity(**how).fit(photos)

    def interrupt(what, done, total):
        if what == "describing images" and done >= 24 - rest:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ImageSimilarity(cache=tmp_path / "cache", progress=interrupt, **how).fit(photos)
    described, load = [], describers.load_rgb

    def loaded(path, sha256):
        described.append(path.parts[-2:])
        return load(path, sha256)

    monkeypatch.setattr(describers, "load_rgb", loaded)
    monkeypatch.setattr(BagOfVisterms, "fit_files", None)  # the codebook is taken too
    model = ImageSimilarity(cache=tmp_path / "cache", **how).fit(photos)
    model.vectors(photos)  # and nothing that this one has made is made again
    assert described == [("red", f"{image}.png") for image in range(rest)]  # of 24, in the order of their paths
    assert np.array_equal(model.learner_.W_, whole.learner_.W_)
