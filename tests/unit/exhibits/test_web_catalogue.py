"""The files of the web study's exhibits, their captions and what is said where nothing was run."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import fields, replace

import pandas as pd
import pytest
from web_numbers import SMALL, full, made_counts, made_numbers, missing, study

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.compare import COLUMNS
from lookalike.exhibits.web_catalogue import (
    NUMBERS_OF,
    WEB_FIGURES,
    WEB_TABLES,
    WebNumbers,
    web_exhibits,
    write_web_exhibits,
)
from lookalike.exhibits.web_context import web_context
from lookalike.exhibits.write import write_index

NAMES = [*WEB_TABLES, *WEB_FIGURES]
FIELDS = [one.name for one in fields(WebNumbers)]
OF_PAPERS = [name for name in NAMES if not name.startswith("web/")]


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def caption(name, numbers, context, reference):
    exhibit = web_exhibits()[name]
    return exhibit.caption(numbers, context, reference, exhibit.draw(numbers, context, reference))


@pytest.fixture(scope="module")
def made():
    return made_numbers()


@pytest.fixture(scope="module")
def written(made, reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exhibits")
    sources = {name: [f"{name}.parquet"] for name in FIELDS}
    write_web_exhibits(NAMES, numbers=made, context=full(made), reference=reference, folder=folder, sources=sources)
    return folder


@pytest.fixture(scope="module")
def not_run(reference, tmp_path_factory):
    folder = tmp_path_factory.mktemp("missing")
    with pytest.MonkeyPatch.context() as patch:
        # one format, since three of them are looked at above
        patch.setattr("lookalike.exhibits.style.FORMATS", ("png",))
        write_web_exhibits(NAMES, numbers=WebNumbers(), context=missing(), reference=reference, folder=folder)
    return folder


def test_every_exhibit_is_listed_once_and_names_its_numbers():
    assert set(NAMES) == set(NUMBERS_OF) == set(web_exhibits())
    assert len(NAMES) == len(set(NAMES))
    assert {need for needs in NUMBERS_OF.values() for need in needs} == set(FIELDS)
    kinds = {name: exhibit.kind for name, exhibit in web_exhibits().items()}
    assert kinds == {name: "table" if name in WEB_TABLES else "figure" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_file_of_the_contract_is_there(written, name):
    stem, sidecar = written / name, read(written, name)
    kinds = {"table": ["csv", "md", "tex"], "figure": ["png", "svg", "pdf", "csv"]}[sidecar["kind"]]
    expected = {f"{stem.name}.{kind}" for kind in kinds} | {f"{stem.name}_compare.csv", f"{stem.name}_compare.md"}
    assert set(sidecar["files"]) == expected
    assert all((stem.parent / file).stat().st_size > 0 for file in expected)
    assert not list(stem.parent.glob(".*")), "no temporary file stays"
    assert f"{sidecar['paper']}/{sidecar['name']}" == name
    assert importlib.util.find_spec(sidecar["drawn_by"]) is not None
    assert tuple(pd.read_csv(stem.parent / f"{stem.name}_compare.csv").columns) == COLUMNS
    assert sidecar["synthetic"] is True
    assert sidecar["sources"] == [f"{need}.parquet" for need in NUMBERS_OF[name]]


@pytest.mark.parametrize("name", NAMES)
def test_every_caption_says_that_the_data_are_simulated(written, name):
    said = read(written, name)["caption"]
    assert "Simulated query log and visterms" in said
    assert "2,292,259 training images and 402,164 test images, 10,000 words" in said
    assert "{" not in said
    assert "nan" not in said
    assert "  " not in said
    assert ("Form of " in said) == ("Not comparable with the printed numbers: simulated" in said) == (name in OF_PAPERS)


def test_no_printed_number_gets_a_verdict(written, not_run):
    for name in NAMES:
        statuses = set(read(written, name)["statuses"])
        assert statuses == ({"not comparable"} if name in OF_PAPERS else set()), name
        assert set(read(not_run, name)["statuses"]) == ({"not run"} if name in OF_PAPERS else set()), name


def test_what_was_not_run_says_so_and_keeps_what_is_printed(not_run, reference):
    for name in NAMES:
        sidecar = read(not_run, name)
        assert sidecar["not_run"] == "not run: set run: true of websim in config.yaml"
        assert sidecar["not_run"] in sidecar["caption"], name
    table = (not_run / "oasis-jmlr-2010/table1.md").read_text()
    assert "2,292,259" in table
    assert "not run" in table
    times = pd.read_csv(not_run / "oasis-nips-2009/fig1b.csv")
    assert set(times["source"]) == {"printed"}
    assert len(times) == 8
    assert pd.read_csv(not_run / "web/speed.csv")["source"].tolist() == ["printed"]
    # numbers of a study that is not run are not drawn even where there are some
    assert list(web_exhibits()["web/topics"].draw(made_numbers(), missing(), reference).frame["series"]) == []


def test_missing_numbers_stop_before_anything_is_written(made, reference, tmp_path):
    for field, name in (("precision", "web/topics"), ("runtime", "oasis-nips-2009/fig1b"), ("fits", "web/speed")):
        with pytest.raises(LookalikeError, match=f"{name} of websim needs {field}"):
            write_web_exhibits(
                [WEB_TABLES[0], name],
                numbers=replace(made, **{field: None}),
                context=full(made),
                reference=reference,
                folder=tmp_path,
            )
    with pytest.raises(LookalikeError, match="there is no exhibit web/galleries: choose one of"):
        write_web_exhibits(["web/galleries"], numbers=made, context=full(made), reference=reference, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_rest_is_optional(made, reference):
    without = replace(made, fits=None, counts=None)
    context = web_context(study())
    assert "chosen" not in caption("web/learning", without, context, reference)
    assert "Dotted: the step" in caption("web/learning", made, full(made), reference)
    assert "chance" not in caption("oasis-jmlr-2010/fig3a", without, context, reference)
    assert "chance, 0.024%" in caption("oasis-jmlr-2010/fig3a", made, full(made), reference)


def test_the_caption_tells_the_size_that_was_counted(made, reference):
    small = replace(made, counts=made_counts(SMALL))
    said = caption("oasis-jmlr-2010/table1", small, full(small), reference)
    assert "3,000 training images and 550 test images" in said


def test_held_out_images_are_read_from_the_fits(made, reference):
    assert full(made).n_validation_images == 20_000
    assert web_context(study(), made.fits.drop(columns="n_validation")).n_validation_images == 0
    assert "over 20,000 training images held out" in caption("web/learning", made, full(made), reference)


def test_settings_that_are_not_known_are_not_told(made, reference):
    assert "(C = 1, patience = 3)" in caption("oasis-jmlr-2010/fig4", made, full(made), reference)
    for settings in (None, {}, {"aggressiveness": None, "patience": None}):
        said = caption("oasis-jmlr-2010/fig4", made, full(made, runtime=settings), reference)
        assert "OASIS, up to the step" in said


def test_the_gap_to_euclidean_is_not_called_the_papers(made, reference):
    said = caption("oasis-jmlr-2010/fig3a", made, full(made), reference)
    assert "made by the simulation" in said
    alone = replace(made, precision=made.precision.query("method == 'oasis'"))
    assert "made by the simulation" not in caption("oasis-jmlr-2010/fig3a", alone, full(made), reference)


def test_same_numbers_give_the_same_bytes(made, reference, tmp_path, written):
    names = ["web/speed", "web/learning"]
    write_web_exhibits(names, numbers=made, context=full(made), reference=reference, folder=tmp_path)
    for file in (tmp_path / "web").iterdir():
        if file.suffix != ".json":
            assert file.read_bytes() == (written / "web" / file.name).read_bytes(), file.name


def test_the_index_has_every_exhibit(written):
    index = write_index(written, title="websim").read_text()
    for name in NAMES:
        assert f"({name}.csv)" in index
