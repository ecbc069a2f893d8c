"""Model files: the same bytes from the same seed, those of strangers, and damaged ones."""

from pathlib import Path

import numpy as np
import pytest
from model_files import parts, write_parts

import lookalike
from lookalike import ImageSimilarity


def sets(part="", **values):
    return lambda about, _: (about[part] if part else about).update(values)


def lacks(part):
    return lambda about, _: about.pop(part)


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
        lookalike.load(path).save(tmp_path / "again.lookalike")
        assert (tmp_path / "again.lookalike").read_bytes() == path.read_bytes()
        about, arrays = parts(path)
        assert set(about.pop("seconds")) == {"reading images", "describing images", "choosing", "learning"}
        assert about["made_by"].pop("time")
        found.append((about, {name: (array.dtype, array.tobytes()) for name, array in arrays.items()}))
    assert found[0] == found[1]


DESCRIBERS = [
    ("color", {"bins": [100_000] * 3}, "would have 1,000,000,000,000,000 dimensions, more than 1,048,576"),
    ("hog", {"side": 10**6}, "`side` of hog"),
    ("gist", {}, "no representation 'gist'"),
]
SAID_AT_ONCE = [  # by `info`, which reads no array
    (sets(format_version=99), "format version 99, and this lookalike reads 4"),
    (sets(format="other"), "is not a lookalike image similarity but a 'other'"),
    *((lacks(part), "lacks a part") for part in ("learner", "representation", "made_by")),
]
SAID_BY_OTHERS = [
    *((lacks(part), "lacks a part") for part in ("fitted", "images")),
    *((sets("representation", name=name, settings=how), sentence) for name, how, sentence in DESCRIBERS),
    (sets("fitted", learner="Strange"), "holds a 'Strange', which this version"),
    (lambda _, arrays: arrays.update({"learner.similarity": np.zeros(1)}), "which no learner saves"),
    (resized("learner.rows_/data", 20), "lacks a part"),
    (resized("representation.idf", 3), "not of one size"),
    (filled("learner.rows_/data", np.inf), "holds NaN or infinity in rows_: "),
]


@pytest.mark.parametrize(("change", "sentence"), SAID_AT_ONCE + SAID_BY_OTHERS)
def test_a_file_that_is_not_of_one_model_is_one_sentence(here, refused, change, sentence):
    about, arrays = parts("w.lookalike")
    change(about, arrays)
    write_parts(Path("w.lookalike"), about, arrays)
    for line in ["evaluate w.lookalike photos", *["info w.lookalike"] * ((change, sentence) in SAID_AT_ONCE)]:
        assert "w.lookalike" in (said := refused(line))
        assert sentence in said
