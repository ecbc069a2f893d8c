"""Painted images of three classes that differ in colour, a model of them, and a folder in which every command works."""

import json
import re
import shutil
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike import ImageSimilarity
from lookalike.cli import main
from lookalike.core.files import write_table
from lookalike.features import bag_of_visterms
from lookalike.studies.human.collect import FILE_COLUMNS
from lookalike.studies.human.questionnaire import plan_fingerprint, plan_from_neighbours

COLOURS = {"blue": (30, 60, 200), "green": (40, 180, 60), "red": (200, 40, 30)}


class Said(NamedTuple):
    status: int
    out: str
    err: str


def paint(path, colour, seed, size=(72, 60)):
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-40, 41, (size[1], size[0], 3))
    Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)).save(path)


@pytest.fixture(scope="session", autouse=True)
def few_pixels():
    """Learn the colours of visterms from fewer pixels than in earnest, which is most of the time of a fit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bag_of_visterms, "N_PIXELS", 4000)
        yield


@pytest.fixture
def photos(place, tmp_path):
    """Eight images of each class, too small for the pyramid as they are; a copy that a test may change."""
    return shutil.copytree(place / "photos", tmp_path / "photos", ignore=shutil.ignore_patterns("broken.png"))


@pytest.fixture(scope="session")
def model_file(place, few_pixels):
    """A model of visterms of these images, a quarter of them held out."""
    path = place.parent / "photos.lookalike"
    ImageSimilarity(words=20, hold_out=0.25, jobs=2, parameters={"n_steps": 400}).fit(place / "photos").save(path)
    return path


@pytest.fixture
def model_file_copy(model_file, tmp_path):
    return shutil.copy(model_file, tmp_path / "copy.lookalike")


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """Photos, one of them damaged, a model of their colours, tables, rated triplets, and a plan with answers."""
    place = tmp_path_factory.mktemp("place") / "place"
    for number, (name, colour) in enumerate(COLOURS.items()):
        for image in range(8):
            paint(place / "photos" / name / f"{image}.png", colour, 100 * number + image)
    for folder in ("corrupt/red", "empty"):
        (place / folder).mkdir(parents=True)
    for folder in ("corrupt", "photos"):
        (place / folder / "red" / "broken.png").write_bytes((place / "photos/red/0.png").read_bytes()[:99])
    model = ImageSimilarity("color", hold_out=0.25, jobs=1, parameters={"n_steps": 300}).fit(place / "photos")
    model.save(place / "m.lookalike")
    names = [f"{name}/{image}.png" for name in COLOURS for image in range(8)]
    labels = [(path, "warm" if path.startswith("red") else "cold") for path in names]
    pd.DataFrame(labels, columns=["path", "label"]).to_csv(place / "labels.csv", index=False)
    nearest = [(f"{a}/0.png", f"{a}/{rank}.png", rank) for a in COLOURS for rank in (1, 2, 3)]
    neighbours = pd.DataFrame(nearest, columns=["query_path", "path", "rank"])
    neighbours.to_csv(place / "neighbours.csv", index=False)
    plan = plan_from_neighbours(neighbours, seed=0, n_queries=3, n_retrieved=3, n_random=3)
    write_table(plan, place / "plan.csv")
    marks = {True: ("good", "true", "true"), False: ("not_good", "false", "true")}
    name = (plan_fingerprint(plan), "Ada")
    answers = [(*name, row.query, row.position, *marks[row.rank == 1]) for row in plan.itertuples()]
    pd.DataFrame(answers, columns=list(FILE_COLUMNS)).to_csv(place / "ada.csv", index=False)
    rate_triplets(place / "release")
    return place


def rate_triplets(root):
    """Six queries whose positive has their colour and whose negative another, and one that is rated the wrong way."""
    rows = []
    names = list(COLOURS)
    for i in range(7):
        mine, other = names[i % 3], names[(i + 1) % 3]
        for j, (letter, colour) in enumerate((("Q", mine), ("P", mine), ("N", other))):
            paint(root / f"t{i}" / f"{letter}.png", COLOURS[colour], 1000 + 10 * i + j)
        kind = "in-class" if i % 2 else "out-of-class"
        for letter, similarity in (("P", -1 if i == 6 else 1), ("N", 1 if i == 6 else -1)):
            rows.append((f"t{i}", f"t{i}/Q.png", f"t{i}", f"t{i}/{letter}.png", similarity, kind))
    rows.append(("t9", "t9/Q.png", "t9", "t9/P.png", 1, ""))
    table = pd.DataFrame(rows, columns=["Image1", "Image1_Path", "Image2", "Image2_Path", "Similarity", "Kind"])
    table.assign(**{"Text Query": "paint"}).to_csv(root / "ratings.csv", index=False)


@pytest.fixture
def here(place, tmp_path, monkeypatch):
    """A copy of that folder, which is the working folder."""
    copy = shutil.copytree(place, tmp_path / "here")
    monkeypatch.chdir(copy)
    return copy


@pytest.fixture
def call(capsys):
    """Run a command; a text is a line of words, a path is one word."""

    def called(*arguments):
        words = [word for part in arguments for word in (part.split(" ") if isinstance(part, str) else [str(part)])]
        return Said(main([word for word in words if word]), *capsys.readouterr())

    return called


@pytest.fixture
def result(call):
    """Run a command that succeeds, and return its JSON."""

    def parsed(*arguments):
        said = call(*arguments, "--json")
        assert said.status == 0, said.err
        return json.loads(said.out)

    return parsed


@pytest.fixture
def refused(call):
    """Run a command that ends in one sentence, and return this; `status` is 1 by default."""

    def sentence(*arguments, status=1):
        said = call(*arguments)
        assert (said.status, said.out) == (status, ""), said
        assert re.fullmatch("lookalike: (?!.*Errno).*\n", said.err)
        return said.err

    return sentence


@pytest.fixture
def painted():
    return paint
