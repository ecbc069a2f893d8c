"""The files of the fine-grained study's exhibits, their captions and what is said where nothing was run."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import fields, replace

import pandas as pd
import pytest
from triplet_numbers import full, made_intervals, made_numbers, missing, real

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.compare import COLUMNS
from lookalike.exhibits.triplet_catalogue import (
    NUMBERS_OF,
    TRIPLET_FIGURES,
    TRIPLET_PICTURES,
    TRIPLET_TABLES,
    TripletNumbers,
    triplet_exhibits,
    write_triplet_exhibits,
    write_triplet_picture,
)
from lookalike.exhibits.triplet_context import PAPER, TABLE1
from lookalike.exhibits.write import write_index

NAMES = [*TRIPLET_TABLES, *TRIPLET_FIGURES]
FIELDS = [one.name for one in fields(TripletNumbers)]
PRINTED = [f"{PAPER}/table1", f"{PAPER}/table2"]


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def made():
    return made_numbers()


@pytest.fixture(scope="module")
def written(made, reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exhibits")
    sources = {name: [f"{name}.parquet"] for name in FIELDS}
    told = {"numbers": made, "context": full(made), "reference": reference, "folder": folder, "sources": sources}
    write_triplet_exhibits([*TRIPLET_TABLES, f"{PAPER}/fig6"], **told)
    with pytest.MonkeyPatch.context() as patch:
        # all formats of one figure are enough
        patch.setattr("lookalike.exhibits.style.FORMATS", ("png",))
        write_triplet_exhibits(["finegrained/curves", "finegrained/contrasts"], **told)
    return folder


@pytest.fixture(scope="module")
def not_run(made, reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("missing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lookalike.exhibits.style.FORMATS", ("png",))
        numbers = TripletNumbers(claims=made.claims)
        write_triplet_exhibits(NAMES, numbers=numbers, context=missing(), reference=reference, folder=folder)
    return folder


def test_every_exhibit_is_listed_once_and_names_its_numbers():
    assert set(NAMES) == set(NUMBERS_OF) == set(triplet_exhibits())
    assert len(NAMES) == len(set(NAMES))
    assert {need for needs in NUMBERS_OF.values() for need in needs} == set(FIELDS)
    kinds = {name: exhibit.kind for name, exhibit in triplet_exhibits().items()}
    assert kinds == {name: "table" if name in TRIPLET_TABLES else "figure" for name in NAMES}
    assert not set(TRIPLET_PICTURES) & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_of_the_contract_is_there(written, name):
    stem, sidecar = written / name, read(written, name)
    kinds = {"table": ["csv", "md", "tex"], "figure": ["png", "csv"]}[sidecar["kind"]]
    kinds += ["svg", "pdf"] if stem.name == "fig6" else []
    expected = {f"{stem.name}.{kind}" for kind in kinds} | {f"{stem.name}_compare.csv", f"{stem.name}_compare.md"}
    assert set(sidecar["files"]) == expected
    assert all((stem.parent / file).stat().st_size > 0 for file in expected)
    assert not list(stem.parent.glob(".*")), "no temporary file stays"
    assert f"{sidecar['paper']}/{sidecar['name']}" == name
    assert importlib.util.find_spec(sidecar["drawn_by"]) is not None
    assert tuple(pd.read_csv(stem.parent / f"{stem.name}_compare.csv").columns) == COLUMNS
    assert sidecar["sources"] == [f"{need}.parquet" for need in NUMBERS_OF[name]]
    assert sidecar["synthetic"] is True


@pytest.mark.parametrize("name", NAMES)
def test_every_caption_says_that_the_data_are_synthetic(written, name):
    said = read(written, name)["caption"]
    assert "Data: demo triplets (synthetic images and ratings), 14,000 triplets of 3,500 query images." in said
    assert "nan" not in said
    assert "{" not in said
    assert "  " not in said
    of_paper = name.startswith(PAPER)
    assert ("Not comparable with the printed numbers: synthetic" in said) == ("Form of " in said) == of_paper


def test_only_ratings_of_people_get_a_verdict(written, not_run):
    for name in NAMES:
        statuses = set(read(written, name)["statuses"])
        assert statuses == ({"not comparable"} if name in PRINTED else set()), name
        assert set(read(not_run, name)["statuses"]) == ({"not run"} if name in PRINTED else set()), name


def test_what_was_not_run_says_so_and_keeps_what_is_printed(not_run):
    for name in NAMES:
        sidecar = read(not_run, name)
        assert sidecar["not_run"] == "not run: put the rated triplets at data/triplets"
        assert sidecar["not_run"] in sidecar["caption"], name
    assert "7,004" in (not_run / f"{PAPER}/table2.md").read_text()
    figure = pd.read_csv(not_run / f"{PAPER}/fig6.csv")
    assert figure[["series", "value"]].to_numpy().tolist() == [["printed", 85.7], ["printed", 7004.0]]
    contrasts = pd.read_csv(not_run / "finegrained/contrasts.csv")
    assert contrasts["difference"].isna().all()
    assert contrasts["printed"].notna().all()
    claims = pd.read_csv(not_run / "finegrained/claims.csv", keep_default_na=False)
    assert set(claims["verdict"]) == {"not run"}
    assert set(claims["by_our_numbers"]) == {""}
    assert "as claimed" in set(claims["by_printed_numbers"])


def test_numbers_of_a_study_that_is_not_run_are_not_shown(made, reference):
    for name in ("finegrained/kinds", "finegrained/features", "finegrained/curves"):
        frame = triplet_exhibits()[name].draw(made, missing(), reference).frame
        assert "dimensions" in frame or frame.empty, name
        assert "dimensions" not in frame or frame["dimensions"].isna().all(), name


def test_missing_numbers_stop_before_anything_is_written(made, reference, tmp_path):
    for field, name in (("intervals", f"{PAPER}/fig6"), ("contrasts", "finegrained/claims"), ("fits", NAMES[3])):
        with pytest.raises(LookalikeError, match=f"{name} of demo_triplets needs {field}"):
            write_triplet_exhibits(
                ["finegrained/curves", name],
                numbers=replace(made, **{field: None}),
                context=full(made),
                reference=reference,
                folder=tmp_path,
            )
    with pytest.raises(LookalikeError, match="there is no exhibit finegrained/text: choose one of"):
        write_triplet_exhibits(
            ["finegrained/text"], numbers=made, context=full(made), reference=reference, folder=tmp_path
        )
    assert not list(tmp_path.iterdir())


def test_without_torch_the_rest_is_drawn(made, reference, tmp_path, monkeypatch):
    monkeypatch.setattr("lookalike.exhibits.style.FORMATS", ("png",))
    without = replace(made, intervals=made.intervals[made.intervals["system"].isin(TABLE1[:9])], curves=None)
    context = real(without, deep_not_run="install torch with make deep")
    names = [f"{PAPER}/table1", f"{PAPER}/fig6"]
    write_triplet_exhibits(names, numbers=without, context=context, reference=reference, folder=tmp_path)
    sentence = "DeepRanking: not run: install torch with make deep."
    for name in names:
        assert sentence in read(tmp_path, name)["caption"]
    curves = triplet_exhibits()["finegrained/curves"]
    said = curves.caption(context, curves.draw(without, context, reference))
    assert "Networks: not run: install torch with make deep." in said
    assert read(tmp_path, names[0])["not_run"] is None
    assert read(tmp_path, names[0])["statuses"] == {"agrees": 18, "not run": 2}


def test_same_numbers_give_the_same_bytes(made, reference, tmp_path, written):
    names = ["finegrained/claims", f"{PAPER}/fig6"]
    write_triplet_exhibits(names, numbers=made, context=full(made), reference=reference, folder=tmp_path)
    for name in names:
        for file in read(tmp_path, name)["files"]:
            there = name.rpartition("/")[0]
            assert (tmp_path / there / file).read_bytes() == (written / there / file).read_bytes(), file


def test_a_picture_is_written_as_the_other_exhibits(made, reference, tmp_path, monkeypatch):
    monkeypatch.setattr("lookalike.exhibits.style.FORMATS", ("png",))
    plot = triplet_exhibits()[f"{PAPER}/fig6"].draw(made, full(made), reference)
    name = f"{PAPER}/fig7"
    write_triplet_picture(
        name, plot, caption="Some images.", context=full(made), folder=tmp_path, sources=["outcomes.parquet"]
    )
    sidecar = read(tmp_path, name)
    assert sidecar["kind"] == "picture"
    assert sidecar["title"] == "Figure 7"
    assert sidecar["caption"].startswith("Some images. Form of Figure 7 in Wang, Song")
    assert sidecar["status"] == ""
    assert (tmp_path / f"{name}_compare.md").read_text() == "No paper prints these numbers.\n"
    with pytest.raises(LookalikeError, match="there is no picture"):
        write_triplet_picture(f"{PAPER}/fig2", plot, caption="", context=full(made), folder=tmp_path)


def test_the_index_has_every_exhibit_below_its_paper(written):
    index = write_index(written, title="demo triplets").read_text()
    for name in NAMES:
        assert f"({name}.csv)" in index
    assert index.index("CVPR 2014") < index.index("## Finegrained")


def test_intervals_alone_make_the_context():
    few = made_intervals(n_triplets=2_000, pool=48)
    context = full(replace(made_numbers(), intervals=few), source="triplets")
    assert (context.n_triplets, context.n_queries, context.median_pool, context.has_pool) == (2_000, 500, 48, False)
    assert context.processors == ("a processor",)
