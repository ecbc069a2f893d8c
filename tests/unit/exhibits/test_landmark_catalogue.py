"""The files of the landmark study's exhibits, their captions and the index."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import pandas as pd
import pytest
from landmark_numbers import CLAIMS, LANDMARKS, METHODS, demo, made_fits, made_montage, made_numbers, missing, oxford

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.exhibits.compare import COLUMNS
from lookalike.exhibits.landmark_catalogue import (
    LANDMARK_FIGURES,
    NUMBERS_OF,
    LandmarkNumbers,
    landmark_exhibits,
    landmark_headline,
    landmark_tables,
    write_landmark_exhibits,
)
from lookalike.exhibits.write import write_index

NAMES = [*landmark_tables(2), *LANDMARK_FIGURES]
SHAPE = {"dataset": "demo_landmarks", "landmarks": LANDMARKS[:3], "codebooks": ["sift-10k", "sift-100k"]}


@pytest.fixture(scope="module")
def claims():
    return read_table(CLAIMS)


@pytest.fixture(scope="module")
def made(claims, tmp_path_factory):
    return made_numbers(claims, made_montage(tmp_path_factory.mktemp("images")), **SHAPE)


@pytest.fixture(scope="module")
def written(made, reference, tmp_path_factory):
    """Everything of a synthetic data set, written at once."""
    folder = tmp_path_factory.mktemp("exhibits")
    sources = {"metrics": ["metrics.parquet"], "fits": ["timing.parquet"], "dimensions": ["dimensions.parquet"]}
    write_landmark_exhibits(
        NAMES, numbers=made, context=demo(made.fits), reference=reference, folder=folder, sources=sources
    )
    return folder


def test_tables_are_those_of_the_codebooks():
    assert landmark_tables(1)[:3] == [f"soml-aaai-2014/table{number}" for number in (1, 4, 7)]
    assert landmark_tables(2)[:6] == [f"soml-aaai-2014/table{number}" for number in (1, 2, 4, 5, 7, 8)]
    assert {*landmark_tables(3), *LANDMARK_FIGURES} == set(NUMBERS_OF)
    assert set(landmark_exhibits(oxford())) == set(NUMBERS_OF)
    assert set(landmark_exhibits(demo())) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_of_the_contract_is_there(written, name):
    stem = written / name
    sidecar = json.loads(stem.with_suffix(".json").read_text())
    kinds = {"table": ["csv", "md", "tex"], "figure": ["png", "svg", "pdf", "csv"]}[sidecar["kind"]]
    expected = {f"{stem.name}.{kind}" for kind in kinds} | {f"{stem.name}_compare.csv", f"{stem.name}_compare.md"}
    assert set(sidecar["files"]) == expected
    assert all((stem.parent / file).stat().st_size > 0 for file in expected)
    assert not list(stem.parent.glob(".*")), "no temporary file stays"
    assert f"{sidecar['paper']}/{sidecar['name']}" == name
    assert importlib.util.find_spec(sidecar["drawn_by"]) is not None
    assert tuple(pd.read_csv(stem.parent / f"{stem.name}_compare.csv").columns) == COLUMNS
    assert sidecar["synthetic"] is True
    known = {"metrics": "metrics.parquet", "fits": "timing.parquet", "dimensions": "dimensions.parquet"}
    assert sidecar["sources"] == [known[need] for need in NUMBERS_OF[name] if need in known]
    assert bool(sidecar.get("rows")) == (name == "landmark/claims")


@pytest.mark.parametrize("name", NAMES)
def test_every_caption_says_that_the_data_are_synthetic(written, name):
    caption = json.loads((written / f"{name}.json").read_text())["caption"]
    assert "ynthetic" in caption
    assert "{" not in caption
    assert "  " not in caption
    assert ("Form of Table" in caption) == name.startswith("soml")
    if name.startswith("soml"):
        assert "Gao, Hoi, Zhang, Wan and Li, AAAI 2014" in caption
        assert "Not comparable with the printed numbers: synthetic images." in caption
    if name == "landmark/time":
        assert "simulated" in caption


def test_qpao_is_marked_wherever_it_is_printed(written):
    for file in [*written.rglob("*.md"), *written.rglob("*.tex")]:
        text = file.read_text()
        if file.parent.name == "landmark" and file.stem == "claims":
            continue  # the claims are the paper's, about its own
        assert text.count("QPAO") == text.count("QPAO (reconstructed)"), file.name


def caption(name, numbers, context, reference):
    exhibit = landmark_exhibits(context)[name]
    return exhibit.caption(numbers, context, exhibit.draw(numbers, context, reference))


OF_OASIS = "OASIS: its passive-aggressive step on a diagonal metric that starts at 1"
OF_QPAO = "QPAO (reconstructed): ours"


def test_oasis_is_told_to_be_diagonal_wherever_ours_is_shown(written):
    for name in NAMES:
        told = json.loads((written / f"{name}.json").read_text())["caption"]
        assert (OF_OASIS in told) == (name not in ("landmark/literal", "landmark/montage")), name


def test_what_is_drawn_from_print_alone_is_not_called_ours(made, claims, reference):
    dimensions = made.dimensions[~made.dimensions["learner"].isin(["qpao", "oasis-diagonal"])]
    told = caption("landmark/time", replace(made, dimensions=dimensions), demo(made.fits), reference)
    assert OF_QPAO not in told
    assert OF_OASIS not in told
    told = caption("landmark/time", made, demo(made.fits), reference)
    assert OF_QPAO in told
    assert OF_OASIS in told
    numbers = made_numbers(claims)
    few = {name: title for name, title in METHODS.items() if name != "qpao"}
    without = replace(numbers, metrics=numbers.metrics[numbers.metrics["method"] != "qpao"])
    for name in ("landmark/sparsity", "soml-aaai-2014/table1"):
        assert OF_QPAO not in caption(name, without, oxford(methods=few), reference)
        assert OF_QPAO in caption(name, numbers, oxford(), reference)


def test_fits_that_stopped_at_their_limit_are_counted(claims, reference):
    numbers = made_numbers(claims)
    fits = numbers.fits.assign(converged=None)
    qpao = fits["method"] == "qpao"
    fits.loc[qpao, "converged"] = True
    stopped = qpao & (fits["representation"] == "sift-10k") & (fits["subset"] == "bodleian") & (fits["fold"] < 2)
    fits.loc[stopped, "converged"] = False
    sentence = "Stopped at the limit of iterations: QPAO (reconstructed) in 2 of 35 fits (10,000 words)."
    for name, is_told in (
        ("soml-aaai-2014/table1", True),
        ("soml-aaai-2014/table7", True),
        ("landmark/sparsity", True),
        ("landmark/claims", True),
        ("soml-aaai-2014/table2", False),
        ("landmark/literal", False),
        ("landmark/time", False),
    ):
        assert (sentence in caption(name, numbers, oxford(fits), reference)) == is_told, name
    assert "Stopped" not in caption("soml-aaai-2014/table1", numbers, oxford(numbers.fits), reference)


def test_a_study_without_two_methods_has_an_empty_montage(claims, reference, tmp_path):
    context = oxford(methods={"soml-da": "S-DA"})
    write_landmark_exhibits(
        ["landmark/montage"], numbers=made_numbers(claims), context=context, reference=reference, folder=tmp_path
    )
    told = json.loads((tmp_path / "landmark/montage.json").read_text())["caption"]
    assert "Not drawn: nothing to compare" in told
    with pytest.raises(LookalikeError, match="needs montage and there are none"):
        write_landmark_exhibits(
            ["landmark/montage"], numbers=made_numbers(claims), context=oxford(), reference=reference, folder=tmp_path
        )


def test_comparable_data_are_judged_and_others_are_not(claims, made, reference, tmp_path):
    fits = made_fits()
    numbers = made_numbers(claims)
    write_landmark_exhibits(
        ["soml-aaai-2014/table1", "soml-aaai-2014/table7"],
        numbers=numbers,
        context=oxford(fits),
        reference=reference,
        folder=tmp_path,
    )
    table1, table7 = (json.loads((tmp_path / f"soml-aaai-2014/table{n}.json").read_text()) for n in (1, 7))
    assert sum(table1["statuses"].values()) == 40
    assert set(table1["statuses"]) <= {"agrees", "higher", "lower"}
    assert "Not comparable" not in table1["caption"]
    assert set(table7["statuses"]) == {"not comparable"}
    text = (tmp_path / "soml-aaai-2014/table1_compare.md").read_text()
    assert text.splitlines()[4].split("|")[1].strip() == "landmark"
    assert "in draw std" in text


def test_where_nothing_was_run_every_exhibit_says_what_to_do(claims, reference, tmp_path):
    names = [*landmark_tables(3), *LANDMARK_FIGURES]
    context = missing()
    write_landmark_exhibits(
        names, numbers=LandmarkNumbers(claims=claims), context=context, reference=reference, folder=tmp_path
    )
    for name in names:
        sidecar = json.loads((tmp_path / f"{name}.json").read_text())
        assert "not run: put oxbuild_images-v1.tgz at data/oxford5k" in sidecar["caption"]
        assert sidecar["not_run"] == "not run: put oxbuild_images-v1.tgz at data/oxford5k"
        if name.startswith("soml"):
            assert "Numbers shown are the paper's." in sidecar["caption"]
            assert list(sidecar["statuses"]) == ["not run"]
    folder = tmp_path
    index = write_index(folder, title=context.title, headline=landmark_headline(None, context)).read_text()
    headings = [line.removeprefix("## ") for line in index.splitlines() if line.startswith("## ")]
    assert headings == ["Gao, Hoi, Zhang, Wan and Li, AAAI 2014", "Landmark"]
    assert index.count("### ") == len(names)


def test_the_same_numbers_make_the_same_bytes(made, written, reference, tmp_path):
    names = ["soml-aaai-2014/table1", "landmark/claims", "landmark/time"]
    sources = {"metrics": ["metrics.parquet"], "fits": ["timing.parquet"], "dimensions": ["dimensions.parquet"]}
    files = write_landmark_exhibits(
        names, numbers=made, context=demo(made.fits), reference=reference, folder=tmp_path, sources=sources
    )
    assert len(files) == 2 * 6 + 7
    for file in files:
        assert file.read_bytes() == (written / file.relative_to(tmp_path)).read_bytes(), file.name


def test_what_is_missing_is_told_before_anything_is_written(made, reference, tmp_path):
    context = demo(made.fits)
    with pytest.raises(LookalikeError, match="there is no exhibit soml-aaai-2014/table3: choose one of"):
        write_landmark_exhibits(
            ["soml-aaai-2014/table1", "soml-aaai-2014/table3"],
            numbers=made,
            context=context,
            reference=reference,
            folder=tmp_path,
        )
    with pytest.raises(LookalikeError, match="landmark/sparsity of demo_landmarks needs lambda_sweep"):
        write_landmark_exhibits(
            ["soml-aaai-2014/table1", "landmark/sparsity"],
            numbers=LandmarkNumbers(metrics=made.metrics, fits=made.fits),
            context=context,
            reference=reference,
            folder=tmp_path,
        )
    assert not list(tmp_path.iterdir())


def test_one_draw_is_said_to_have_no_spread(claims, reference, tmp_path):
    numbers = made_numbers(claims, draws=1)
    write_landmark_exhibits(
        ["soml-aaai-2014/table1"],
        numbers=numbers,
        context=oxford(numbers.fits, draws=1),
        reference=reference,
        folder=tmp_path,
    )
    assert "One draw, so there is no ±." in json.loads((tmp_path / "soml-aaai-2014/table1.json").read_text())["caption"]
