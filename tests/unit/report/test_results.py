"""What lies in a folder of results, whole, half made or broken."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from made_results import DRAFT, JMLR, add_claims, add_exhibit, edit_sidecar

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.printed import STATES
from lookalike.report.display import SIGNS
from lookalike.report.pages import MEANINGS
from lookalike.report.results import Results

NOT_RUN = "not run: put archive.tar at data/caltech256"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of two data sets of one study, one of them not run, and of two others."""
    results = tmp_path / "results"
    for order, name in ((4, "table4"), (5, "table5"), (50, "fig6")):
        add_exhibit(results, "demo", JMLR, name, order=order, state="agrees", statuses={"agrees": 1})
    add_exhibit(results, "demo", DRAFT, "fig3", kind="figure")
    add_exhibit(results, "photographs", JMLR, "table4", order=4, state="not run", problem=NOT_RUN)
    add_exhibit(results, "demo_web", JMLR, "table1", order=1, study="web")
    add_exhibit(results, "demo_triplets", "finegrained", "kinds", study="finegrained")
    (results / "demo" / "exhibits" / "headline.txt").write_text("mAP 40 %\n")
    (results / "kernels" / "learners").mkdir(parents=True)
    (results / "report").mkdir()
    return results


def names(results: Results, **chosen: str) -> list[str]:
    return [f"{exhibit.dataset}:{exhibit.id}" for exhibit in results.exhibits(**chosen)]


# what there is, in which order


def test_data_sets_come_by_study_real_ones_first_and_other_folders_are_passed_over(folder: Path) -> None:
    found = Results(folder).datasets
    assert [(one.id, one.studies) for one in found] == [
        ("photographs", ["category"]),
        ("demo", ["category"]),
        ("demo_web", ["web"]),
        ("demo_triplets", ["finegrained"]),
    ]
    assert [one.not_run for one in found] == [NOT_RUN, "", "", ""]
    assert [one.synthetic for one in found] == [False, True, True, True]
    assert found[1].title == "DEMO"
    assert found[1].headline == "mAP 40 %", "the line for the terminal is left out"


def test_exhibits_come_by_paper_and_its_numbering_whichever_study_they_are_of(folder: Path) -> None:
    assert names(Results(folder)) == [
        f"demo_web:{JMLR}/table1",
        f"photographs:{JMLR}/table4",
        f"demo:{JMLR}/table4",
        f"demo:{JMLR}/table5",
        f"demo:{JMLR}/fig6",
        f"demo:{DRAFT}/fig3",
        "demo_triplets:finegrained/kinds",
    ]
    assert Results(folder).groups == ["finegrained"]


def test_exhibits_of_one_paper_or_one_data_set(folder: Path) -> None:
    results = Results(folder)
    assert names(results, paper=DRAFT) == [f"demo:{DRAFT}/fig3"]
    assert names(results, dataset="photographs") == [f"photographs:{JMLR}/table4"]
    assert names(results, paper="soml-aaai-2014") == names(results, dataset="kernels") == []


def test_one_exhibit_or_a_sentence_with_those_that_there_are(folder: Path) -> None:
    results = Results(folder)
    assert results.exhibit("demo", JMLR, "table4") == results["demo"].exhibits[0]
    with pytest.raises(
        LookalikeError, match=rf"photographs has no exhibit {JMLR}/table9: choose one of {JMLR}/table4$"
    ):
        results.exhibit("photographs", JMLR, "table9")
    with pytest.raises(LookalikeError, match=r"'kernels': choose one of photographs, demo, demo_web, demo_triplets$"):
        results.exhibit("kernels", JMLR, "table4")


def test_states_are_those_of_the_sidecars(folder: Path) -> None:
    results = Results(folder)
    assert list(results.states()) == list(STATES)
    assert {state: n for state, n in results.states().items() if n} == {
        "agrees": 3,
        "not run": 1,
        "no printed number": 3,
    }
    assert sum(results.states([DRAFT]).values()) == 1
    assert set(STATES) == set(MEANINGS) <= set(SIGNS)


# files of an exhibit


def test_files_of_a_table(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    assert [path.name for path in exhibit.paths] == ["table4.csv", "table4.json"]
    assert list(exhibit.table()["method"]) == ["oasis", "euclidean"]
    compared = exhibit.compare()
    assert compared is not None
    assert list(compared["method"]) == ["oasis"], "what has no status has no printed number"
    (sheet,) = exhibit.sheets
    assert sheet.rows == (("OASIS", "0.50"), ("a | b", ""))
    assert exhibit.picture() is None
    assert exhibit.figure() is None


def test_files_of_a_figure(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", DRAFT, "fig3")
    assert exhibit.picture() == folder / "demo" / "exhibits" / DRAFT / "fig3.png"
    assert exhibit.compare() is None, "no comparison at all"
    assert exhibit.sheets == ()


def test_a_name_that_begins_another_takes_none_of_its_files(tmp_path: Path) -> None:
    for name in ("fig1", "fig10", "fig1_b"):
        add_exhibit(tmp_path, "demo", JMLR, name, kind="figure")
    files = Results(tmp_path).exhibit("demo", JMLR, "fig1").paths
    assert [path.name for path in files] == ["fig1.csv", "fig1.json", "fig1.png"]


def test_a_table_without_columns_is_empty(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    (exhibit.folder / "table4.csv").write_text("\n")
    assert exhibit.table().empty


# claims


def test_claims_of_all_data_sets(folder: Path) -> None:
    own = {"id": ["a"], "place": ["section 1"], "claim": ["OASIS is fast."], "verdict": ["holds"], "evidence": ["3x"]}
    own |= {"rule": ["fast"], "decided_by": [""]}
    add_claims(folder, "demo", "learning", pd.DataFrame({**own, "paper": [DRAFT]}))
    added = pd.DataFrame({**own, "paper": ["deep-ranking-cvpr-2014"], "representation": ["small"]})
    add_claims(folder, "demo_triplets", "finegrained", added, study="finegrained")
    add_claims(folder, "photographs", "learning", added, state="not run", problem=NOT_RUN)
    claims = Results(folder).claims()
    assert list(claims)[:4] == ["dataset", "id", "paper", "place"]
    assert claims[["dataset", "paper", "representation", "decided_by"]].to_numpy().tolist() == [
        ["demo", DRAFT, "", ""],
        ["demo_triplets", "deep-ranking-cvpr-2014", "small", ""],
    ]


def test_no_claims_are_a_table_without_rows(folder: Path) -> None:
    claims = Results(folder).claims()
    assert claims.empty
    assert {"dataset", "verdict"} <= set(claims)


# what is missing or broken


def test_no_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LookalikeError, match=r"no folder of results at .*nowhere: run `make demo` first"):
        Results(tmp_path / "nowhere")


def test_an_empty_folder_has_nothing(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert (results.datasets, results.exhibits(), results.claims().shape[0]) == ([], [], 0)
    with pytest.raises(LookalikeError, match="there is none; run `make demo` first"):
        results["demo"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '"text"', "{}", b"\xff\xfe"],
)
def test_a_broken_sidecar_is_an_exhibit_that_says_so(folder: Path, content: str | bytes) -> None:
    sidecar = folder / "demo" / "exhibits" / JMLR / "table4.json"
    sidecar.write_bytes(content if isinstance(content, bytes) else content.encode())
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    assert exhibit.state == "failed"
    assert exhibit.problem.startswith(f"{sidecar} cannot be read (")
    assert exhibit.problem.endswith("delete it and run the same command again")
    assert Results(folder)["demo"].title == "DEMO", "the others tell of the data set"


@pytest.mark.parametrize(
    "strange",
    [
        {"kind": None},
        {"statuses": {"agrees": "many"}},
        {"sources": "one"},
        {"caption": ["a"]},
        {"state": "splendid"},
        {"notes": [1]},
        {"sheets": [{"title": "no rows"}]},
        {"panels": [{"series": "none"}]},
        {"entries": [{"words": "a"}]},
    ],
    ids=str,
)
def test_a_strange_sidecar_is_said_in_one_sentence(folder: Path, strange: dict[str, object]) -> None:
    edit_sidecar(folder / "demo" / "exhibits" / JMLR / "table4.json", **strange)
    problem = Results(folder).exhibit("demo", JMLR, "table4").problem
    assert "cannot be read (" in problem
    assert "\n" not in problem


@pytest.mark.parametrize("content", ['a,b\n1,"2', "a,b\n1,2\n1,2,3,4\n", b"a,b\n\xff\xfe,1\n"])
def test_a_broken_table_is_one_sentence(folder: Path, content: str | bytes) -> None:
    path = folder / "demo" / "exhibits" / JMLR / "table4.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    for read in (exhibit.table, exhibit.compare):
        with pytest.raises(LookalikeError, match=r"^cannot read .*table4.csv \(.+\): delete it and run the same"):
            read()


def test_what_a_killed_job_left_is_passed_over(folder: Path) -> None:
    (folder / "demo" / "exhibits" / JMLR / ".table9.123.part.json").write_text("{")
    assert "table9" not in " ".join(names(Results(folder)))


def test_a_data_set_of_broken_exhibits_alone_is_listed(tmp_path: Path) -> None:
    add_exhibit(tmp_path, "demo", JMLR, "table4").write_text("{")
    dataset = Results(tmp_path)["demo"]
    assert (dataset.title, dataset.studies, dataset.not_run) == ("demo", [], "")


# where results are found


def test_results_are_found_by_the_variable_then_here_then_beside(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOKALIKE_RESULTS", raising=False)
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    monkeypatch.chdir(notebooks)
    assert Results.find().folder.resolve() == folder
    (notebooks / "results").mkdir()
    assert Results.find().folder.resolve() == folder, "an empty folder is no results"
    add_exhibit(notebooks / "results", "demo", JMLR, "table4")
    assert Results.find().folder.resolve() == notebooks / "results"
    monkeypatch.setenv("LOOKALIKE_RESULTS", str(folder))
    assert Results.find().folder == folder


def test_without_results_one_sentence_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOOKALIKE_RESULTS", raising=False)
    with pytest.raises(LookalikeError, match=r"no results at results or \.\./results: run `make demo`"):
        Results.find()
    monkeypatch.setenv("LOOKALIKE_RESULTS", "elsewhere")
    with pytest.raises(LookalikeError, match="no results at elsewhere, which LOOKALIKE_RESULTS names: run `make demo`"):
        Results.find()
