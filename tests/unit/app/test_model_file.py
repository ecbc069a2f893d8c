"""Model files: the same bytes from the same seed, those of strangers, and damaged ones."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from model_files import parts, write_parts
from safetensors.numpy import save

import lookalike
from lookalike import ImageSimilarity, Similarity
from lookalike.app.model_file import read_about
from lookalike.app.rows import make_rows
from lookalike.core.errors import LookalikeError


def sets(part="", **values):
    return lambda about, _: (about[part] if part else about).update(values)


def resized(name, *shape):
    return lambda _, arrays: arrays.update({name: np.zeros(shape, arrays[name].dtype)})


def filled(name, value):
    return lambda _, arrays: arrays[name].fill(value)


@pytest.mark.parametrize("learner", ["OASIS", "AveragedOASIS", "RCA", "DiagonalOASIS"])
def test_the_same_seed_gives_the_same_file_but_for_its_times(photos, tmp_path, learner):
    settings = {} if learner == "RCA" else {"n_steps": 60}
    found = []
    for jobs in (1, 2):
        path = tmp_path / f"{jobs}.lookalike"
        model = ImageSimilarity("color", learner, hold_out=0.25, jobs=jobs, parameters=settings).fit(photos)
        model.save(path)
        n_dimensions = model.representation_.describer.n_dimensions
        rows = np.eye(n_dimensions, model.learner_.n_features_in_, dtype=np.float32)
        loaded = lookalike.load(path)
        np.testing.assert_array_equal(loaded.learner_.similarity(rows, rows), model.learner_.similarity(rows, rows))
        assert vars(loaded.learner_).keys() == vars(model.learner_).keys()
        loaded.save(tmp_path / "again.lookalike")
        assert (tmp_path / "again.lookalike").read_bytes() == path.read_bytes()
        about, arrays = parts(path)
        assert set(about.pop("seconds")) == {"reading images", "describing images", "choosing", "learning"}
        assert about["made_by"].pop("time")
        found.append((about, {name: (array.dtype, array.tobytes()) for name, array in arrays.items()}))
    assert found[0] == found[1]


WRONG = [
    (sets(format_version=99), "format version 99, and this lookalike reads 4"),
    (sets(format="other"), "is not a lookalike image similarity but a 'other'"),
]
DESCRIBERS = [
    ("color", {"bins": [100_000] * 3}, "would have 1,000,000,000,000,000 dimensions, more than 1,048,576"),
    ("hog", {"side": 10**6}, "`side` of hog"),
    ("gist", {}, "no representation 'gist'"),
]
UNLIKE = [
    *((sets("representation", name=name, settings=how), sentence) for name, how, sentence in DESCRIBERS),
    (sets("fitted", learner="Strange"), "holds a 'Strange', which this version"),
    (lambda about, _: about.pop("fitted"), "lacks a part"),
    (lambda _, arrays: arrays.update({"learner.similarity": np.zeros(1)}), "which no learner saves"),
    (resized("learner.rows_/data", 20), "lacks a part"),
    (resized("representation.idf", 3), "not of one size"),
    (filled("learner.rows_/data", np.inf), "holds NaN or infinity in rows_: "),
]


@pytest.mark.parametrize(("change", "sentence"), WRONG + UNLIKE)
def test_a_file_that_is_not_of_one_model_is_one_sentence(model_file_copy, change, sentence):
    about, arrays = parts(model_file_copy)
    change(about, arrays)
    write_parts(model_file_copy, about, arrays)
    for read in (ImageSimilarity.load, read_about) if (change, sentence) in WRONG else (ImageSimilarity.load,):
        with pytest.raises(LookalikeError, match=sentence) as refusal:
            read(model_file_copy)
        assert str(model_file_copy) in str(refusal.value)


def test_a_file_that_is_cut_short_or_foreign_is_one_sentence(model_file_copy, tmp_path):
    path, whole = model_file_copy, model_file_copy.read_bytes()
    for content in (b"", pickle.dumps(np.zeros(99)), whole[: len(whole) // 2], save({"a": np.zeros(3)})):
        path.write_bytes(content)
        for read in (ImageSimilarity.load, read_about):
            with pytest.raises(LookalikeError, match=r"copy\.lookalike is not a"):
                read(path)
    (tmp_path / "folder.lookalike").mkdir()
    for wrong, refusal in (("none.lookalike", "no model"), ("folder.lookalike", "a folder")):
        with pytest.raises(LookalikeError, match=refusal):
            ImageSimilarity.load(tmp_path / wrong)


def test_a_model_of_vectors_that_the_release_before_wrote_ranks_as_it_did(tmp_path):
    random = np.random.default_rng(0)
    rows = make_rows(random.normal(size=(30, 4)) + np.repeat(np.eye(3, 4), 10, axis=0), labels=np.repeat([*"abc"], 10))
    model = Similarity(parameters={"n_steps": 50}).fit(rows)
    model.save(path := tmp_path / "old.lookalike")
    about, arrays = parts(path)
    about["representation"]["settings"] |= {"longest_side": 256, "side": 0}
    path.write_bytes(save(arrays, {"lookalike": json.dumps(about)}))
    with pytest.warns(UserWarning, match="has no checksum, because lookalike 1.1 wrote it"):
        loaded = lookalike.load(path)
    assert loaded.rank(["3"], rows, k=5).equals(model.rank(["3"], rows, k=5))
    assert loaded.about() == model.about()


@pytest.mark.parametrize("part", ["learner", "representation", "fitted", "made_by", "images"])
def test_a_part_that_a_file_lacks_is_told_by_every_command(here, refused, part):
    about, arrays = parts("m.lookalike")
    del about[part]
    write_parts(Path("m.lookalike"), about, arrays)
    lines = ["rank m.lookalike photos/red/1.png --gallery photos", "evaluate m.lookalike photos"]
    lines += ["index m.lookalike photos", *["info m.lookalike"] * (part not in ("fitted", "images"))]
    for line in lines:
        assert "m.lookalike lacks a part of a lookalike image similarity" in refused(line)
