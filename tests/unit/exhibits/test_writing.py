"""The files of an exhibit: whole also where it was not run or failed, and a sidecar that says why."""

import pandas as pd
import pytest
from made_report import EXHIBITS, JMLR, NOT_RUN, curves, table, toy_exhibit, toy_study, write_study

from lookalike.core.files import read_json
from lookalike.exhibits.drawing import Chart, Curve
from lookalike.exhibits.model import Axis, NothingToShowError
from lookalike.exhibits.style import LOOKS
from lookalike.exhibits.writing import write_exhibits


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Exhibits of a toy study that was run, but for its images, and of one that was not."""
    results = tmp_path_factory.mktemp("toys") / "results"
    for dataset, why in (("demo", ""), ("caltech256", NOT_RUN)):
        write_study(results, dataset, "category", not_run=why)
    return [results / dataset / "exhibits" for dataset in ("demo", "caltech256")]


def test_one_that_fails_or_lacks_what_it_needs_is_named_and_all_files_are_written(folders):
    promised = [f"{id}{suffix}" for id, _, draw in EXHIBITS["category"] for suffix in toy_exhibit(id, draw).suffixes]
    assert [name for folder in folders for name in promised if not (folder / name).is_file()] == []
    run, not_run = ({id: read_json(folder / f"{id}.json") for id, *_ in EXHIBITS["category"]} for folder in folders)
    assert {(sidecar["state"], sidecar["problem"]) for sidecar in not_run.values()} == {("not run", NOT_RUN)}
    assert [id for id, sidecar in run.items() if sidecar["problem"]] == ["learning/neighbours", "learning/broken"]
    assert run["learning/broken"]["state"] == "failed"
    assert "KeyError" in run["learning/broken"]["problem"]
    assert "KeyError" in (folders[0] / "learning" / "broken.md").read_text()
    assert run[f"{JMLR}/table4"]["state"] == "drawn"


def test_a_sidecar_names_its_sources_or_the_jobs_that_make_what_is_missing(tmp_path):
    study = toy_study("demo").finished({"metrics": "a.csv"})
    needs = [("table4", ["metrics"]), ("table5", ["metrics", "curves"])]
    exhibits = [toy_exhibit(f"{JMLR}/{name}", table, needs=names) for name, names in needs]
    first, second = write_exhibits(exhibits, study, tmp_path)
    assert (first.sources, first.problem) == (("a.csv",), "")
    assert second.problem == "not run: run the jobs that make curves"


def test_the_csv_holds_the_whole_figure(folders):
    found = pd.read_csv(folders[0] / JMLR / "fig6.csv")
    pd.testing.assert_frame_equal(found, curves(None).frame, check_dtype=False)


def nothing_chosen(study):
    """A figure whose panels have nothing to show."""
    chart = Chart(2)
    for _ in range(2):
        chart.panel("", Axis(), Axis(), empty="one network alone was trained")
    return chart.drawn(pd.DataFrame({"x": []}))


def half(study):
    """A figure of which one panel is drawn."""
    chart = Chart(2)
    chart.panel("", Axis(), Axis(), [Curve("a", LOOKS["oasis"], pd.DataFrame({"x": [1.0], "mean": [2.0]}))])
    chart.panel("", Axis(), Axis(), empty="not run")
    return chart.drawn(pd.DataFrame({"x": []}))


def unread(study):
    """A gallery whose images are not there."""
    raise NothingToShowError("there is no image to show")


@pytest.mark.parametrize(
    ("draw", "problem"),
    [
        (nothing_chosen, "not run: one network alone was trained"),
        (unread, "not run: there is no image to show"),
        (half, ""),
    ],
)
def test_what_has_nothing_to_draw_says_so_and_is_no_empty_frame(tmp_path, draw, problem):
    exhibit = toy_exhibit(f"{JMLR}/fig6", draw)
    (sidecar,) = write_exhibits([exhibit], toy_study("demo").finished({}), tmp_path)
    assert (sidecar.problem, sidecar.state == "not run") == (problem, bool(problem))
