"""Every kind of file that is saved and read again: what is not as it was written is noticed."""

import json
import pickle
import warnings
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from model_files import parts
from safetensors import safe_open
from safetensors.numpy import save

import lookalike
from lookalike.app.gallery import File, export, read_gallery
from lookalike.app.model_file import read_about
from lookalike.app.representations import Cache
from lookalike.core import model_file
from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_csr, write_csr
from lookalike.core.model_file import Kind, write_model
from lookalike.data.query_log import QueryLog
from lookalike.data.relevance import RelevanceData
from lookalike.learners import OASIS
from lookalike.ranking.rankings import Rankings
from lookalike.studies.landmark.results import LandmarkRankings
from lookalike.studies.web.large_scale import train
from lookalike.studies.web.settings import LogLearning
from lookalike.studies.web.training_images import TrainingRows

N_FLIPS = 200
RANDOM = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 10)
X = RANDOM.normal(size=(30, 6)).astype(np.float32)


def learner(path):
    OASIS(n_steps=200, random_state=0).fit(X, Y).save(path)
    return lambda file: lookalike.load(file).similarity(X, X).tobytes()


def similarity(path):
    np.save(path.with_suffix(".npy"), X)
    lookalike.Similarity(parameters={"n_steps": 50}).fit(path.with_suffix(".npy"), Y).save(path)

    def read(file):
        loaded = lookalike.Similarity.load(file)
        about = {key: value for key, value in read_about(file).items() if key != "representation"}
        return about, loaded.about(), loaded.learner_.similarity(X, X).tobytes(), loaded.rows_.to_csv()

    return read


def gallery(name, path):
    files = [File(f"{row}.png", "", 40, 40, 100, "0" * 64, "ok", mtime_ns=10**18 + row) for row in range(30)]
    model, folder = lookalike.Similarity(parameters={"n_steps": 50}).fit(X, Y), path.parent / "exported"
    export(model, X, folder, to="npy", files=files, named="model")
    path.write_bytes((folder / name).read_bytes())

    def read(file):
        (folder / name).write_bytes(file.read_bytes())
        found = read_gallery(folder)
        return found.files, found.about["model"], found.rows.tobytes(), found.query_map["matrix"].tobytes()

    return read


def small_network():
    from made_networks import tiny

    from lookalike.deep.network import DeepRankingNetwork

    return DeepRankingNetwork(tiny(multiscale=False, low_resolution=()))


def bytes_of(weights):
    return {name: value.numpy().tobytes() for name, value in weights.items()}


def network(path):
    from lookalike.deep.model_io import load_network, save_network

    save_network(small_network(), path, {"shift": 2})
    return lambda file: bytes_of(load_network(file).state_dict())


def checkpoint(path):
    from lookalike.deep.checkpoints import Checkpoint

    Checkpoint(path, 0, {"seed": 1}).save({"step": 7, "weights": dict(small_network().state_dict())})

    def read(file):
        state, _ = Checkpoint(file, 0, {"seed": 1}).resume()
        return state["step"], bytes_of(state["weights"])

    return read


def cached(path):
    folder = path.parent / "cache"
    Cache(folder).write("group", "name", {"vectors": X})
    entry = folder / "group" / "name.kept"
    path.write_bytes(entry.read_bytes())

    def read(file):
        entry.write_bytes(file.read_bytes())
        found = [arrays["vectors"].tobytes() for arrays in Cache(folder).read("group")]
        if not found:
            raise LookalikeError("it is made again")
        return found

    return read


NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
GALLERIES = [partial(gallery, name) for name in ("about.json", "files.json", "gallery.npy")]
OF_TORCH = [pytest.param(kind, marks=NEEDS_TORCH) for kind in (network, checkpoint)]


@pytest.mark.parametrize("kind", [learner, similarity, *GALLERIES, cached, *OF_TORCH])
def test_a_flipped_byte_changes_no_answer(tmp_path, kind):
    path, bad = tmp_path / "whole.lookalike", tmp_path / "bad.lookalike"
    read, random = kind(path), np.random.default_rng(1)
    whole, answer, refused = path.read_bytes(), read(path), []
    places = {0, 8, 9, len(whole) - 1, *random.choice(len(whole), N_FLIPS - 4, replace=False).tolist()}
    if (key := whole.rfind(b"sha256")) >= 0:  # a file whose sums go by another name is not one without any
        places |= {*range(key, key + len("sha256"))}
    for place in sorted(places):
        content = bytearray(whole)
        content[place] ^= 1 << int(random.integers(8))
        bad.write_bytes(content)
        try:
            assert read(bad) == answer
        except LookalikeError as error:
            refused.append(str(error))
    assert len(refused) > N_FLIPS / 2
    assert not any("\n" in sentence for sentence in refused)


LOG = QueryLog([1, 0, 3], [0, 2, 1], np.array([1, 2, 0.1], dtype=np.float32), 5, 6)
GRADED = RelevanceData.from_pairs([7, 3, 9], ["cat", "cat", "dog"], [7], [3], [0.5])
RANKED = Rankings(np.array([0, 1, 3]), np.array([1, 2, 4], np.int32), 5, np.array([7, 9], np.int32))
WITH_NEIGHBOURS = replace(RANKED, neighbours=np.eye(2, dtype=np.int32), neighbour_scores=np.eye(2, dtype=np.float32))
TOP = np.array([[4, 1], [2, 0]], np.int32)
PRECISION = np.array([[0.5, np.nan], [0.25, 1]])
LANDMARKS = LandmarkRankings(np.array(["gate_1", "gate_2"]), PRECISION, TOP, top_scores=np.float32(TOP / 9))
SAVED = [LOG, GRADED, RelevanceData.from_labels([], []), RANKED, WITH_NEIGHBOURS, LANDMARKS]


@pytest.mark.parametrize("saved", SAVED, ids=lambda saved: type(saved).__name__)
def test_what_is_saved_comes_back_and_has_the_same_bytes_each_time(tmp_path, saved):
    saved.save(tmp_path / "a.npz")
    again = saved.load(tmp_path / "a.npz")
    again.save(tmp_path / "b.npz")
    assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "a.npz").read_bytes()
    for name, value in vars(saved).items():
        found = getattr(again, name)
        np.testing.assert_array_equal(*(part.toarray() if sp.issparse(part) else part for part in (found, value)))


VISTERMS = sp.csr_array(np.random.default_rng(0).poisson(0.3, (4, 50)))
ROWS, LEARNING = TrainingRows(VISTERMS, np.arange(4)), LogLearning(steps=8, interval=8, patience=0, block=8)


def training(folder):
    if folder.is_dir() and not any(folder.iterdir()):
        raise LookalikeError(f"{folder} starts again")
    triplets = SimpleNamespace(chunk=lambda _, n: np.zeros((n, 3), "i4"))
    return train(ROWS, triplets, LEARNING, lambda W: 0.5, checkpoint=folder)


WRITTEN = {
    "query-log.npz": (LOG.save, QueryLog.load),
    "relevance.npz": (GRADED.save, RelevanceData.load),
    "visterms.npz": (partial(write_csr, VISTERMS), read_csr),
    "training": (training, training),
    "model.lookalike": (similarity, lookalike.load),
    "about.lookalike": (similarity, read_about),
}
FOREIGN = (b"", b"no archive", pickle.dumps(np.zeros(99)), save({"a": np.zeros(3)}))


@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_is_read_later_is_whole_or_named(tmp_path, name):
    write, read = WRITTEN[name]
    write(place := tmp_path / name)
    for path in [*place.iterdir()] if place.is_dir() else [place]:
        whole = path.read_bytes()
        for damaged in (*FOREIGN, whole[: len(whole) // 2], whole[:-3], None):
            path.unlink()  # what is open has it mapped
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(LookalikeError, match=rf"{tmp_path}.*(again|remove|make one|another file)[^\n]*$"):
                read(place)
            path.write_bytes(whole)
    read(place)


@pytest.mark.parametrize("kind", [learner, similarity])
def test_what_was_saved_without_a_sum_is_read_with_one_warning(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(model_file, "_without_sums", set())
    path = tmp_path / "old.lookalike"
    read = kind(path)
    answer, (about, arrays) = read(path), parts(path)
    if kind is similarity:  # which the release before described by these too
        about["representation"]["settings"] |= {"longest_side": 256, "side": 0}
    path.write_bytes(save(arrays, {"lookalike": json.dumps(about)}))
    with pytest.warns(UserWarning, match=r"old\.lookalike has no checksum, because lookalike 1.1 wrote it") as warned:
        assert read(path) == read(path) == answer
    # a damaged file of another test may be let go of meanwhile
    assert [warning.category for warning in warned].count(UserWarning) == 1
    model = lookalike.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.save(path)
        assert read(path) == answer


KIND = Kind("thing", 1, "make it again")
ABOUT = {"names": [f"row {i}" for i in range(300)]}
LIMITS = {"LARGEST_MODEL": "at most 0 MB are read", "LARGEST_TEXT": "more than any model"}


@pytest.mark.parametrize(("limit", "words"), LIMITS.items())
def test_a_long_text_is_an_array_and_a_model_that_is_too_large_is_neither_read_nor_written(
    tmp_path, monkeypatch, limit, words
):
    write_model(whole := tmp_path / "whole.lookalike", KIND, ABOUT, {"a": X})
    with monkeypatch.context() as patch:  # where no header holds the text, an array does
        patch.setattr(model_file, "LARGEST_HEADER", 1000)
        write_model(long := tmp_path / "long.lookalike", KIND, ABOUT, {"a": X})
    with safe_open(long, framework="numpy") as file:
        assert not file.metadata()
    assert model_file.read_about(long, KIND) == model_file.read_about(whole, KIND)
    write_model(short := tmp_path / "short.lookalike", KIND, *model_file.read_model(long, KIND))
    assert short.read_bytes() == whole.read_bytes()
    monkeypatch.setattr(model_file, limit, 1000)
    for read, path in product((model_file.read_model, model_file.read_about), (whole, long)):
        with pytest.raises(LookalikeError, match=words):
            read(path, KIND)
    if limit == "LARGEST_TEXT":
        with pytest.raises(LookalikeError, match=r"the names of all rows .*: give fewer rows"):
            write_model(tmp_path / "large.lookalike", KIND, ABOUT, {"a": X})
        assert {*tmp_path.iterdir()} == {whole, long, short}
