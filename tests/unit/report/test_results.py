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
    (results / "demo" / "exhibits" / JMLR / ".table9.123.part.json").write_text("{")  # of a killed job
    (results / "kernels" / "learners").mkdir(parents=True)
    return results


def names(results: Results, **chosen: str) -> list[str]:
    return [f"{exhibit.dataset}:{exhibit.id}" for exhibit in results.exhibits(**chosen)]


def test_data_sets_come_by_study_real_ones_first_and_other_folders_are_passed_over(folder: Path) -> None:
    found = Results(folder).datasets
    assert [(one.id, one.studies, one.synthetic, one.not_run) for one in found] == [
        ("photographs", ["category"], False, NOT_RUN),
        ("demo", ["category"], True, ""),
        ("demo_web", ["web"], True, ""),
        ("demo_triplets", ["finegrained"], True, ""),
    ]
    assert (found[1].title, found[1].headline) == ("DEMO", "mAP 40 %")


def test_exhibits_come_by_paper_and_its_numbering_whichever_study_they_are_of(folder: Path) -> None:
    results = Results(folder)
    assert names(results) == [
        f"demo_web:{JMLR}/table1",
        f"photographs:{JMLR}/table4",
        f"demo:{JMLR}/table4",
        f"demo:{JMLR}/table5",
        f"demo:{JMLR}/fig6",
        f"demo:{DRAFT}/fig3",
        "demo_triplets:finegrained/kinds",
    ]
    assert results.groups == ["finegrained"]
    assert names(results, paper=DRAFT) == [f"demo:{DRAFT}/fig3"]
    assert names(results, dataset="photographs") == [f"photographs:{JMLR}/table4"]
    assert names(results, paper="soml-aaai-2014") == names(results, dataset="kernels") == []


def test_states_are_those_of_the_sidecars(folder: Path) -> None:
    results = Results(folder)
    assert list(results.states()) == list(STATES)
    found = {state: n for state, n in results.states().items() if n}
    assert found == {"agrees": 3, "not run": 1, "no printed number": 3}
    assert sum(results.states([DRAFT]).values()) == 1
    assert set(STATES) == set(MEANINGS) <= set(SIGNS)


def test_files_of_a_table(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    assert [path.name for path in exhibit.paths] == ["table4.csv", "table4.json"]
    assert list(exhibit.table()["method"]) == ["oasis", "euclidean"]
    compared = exhibit.compare()
    assert compared is not None
    assert list(compared["method"]) == ["oasis"], "what has no status has no printed number"
    assert exhibit.sheets[0].rows == (("OASIS", "0.50"), ("a | b", ""))
    assert exhibit.picture() is exhibit.figure() is None
    (exhibit.folder / "table4.csv").write_text("\n")
    assert exhibit.table().empty


def test_files_of_a_figure_and_none_of_another_whose_name_it_begins(folder: Path) -> None:
    for name in ("fig30", "fig3_b"):
        add_exhibit(folder, "demo", DRAFT, name, kind="figure")
    exhibit = Results(folder).exhibit("demo", DRAFT, "fig3")
    assert [path.name for path in exhibit.paths] == ["fig3.csv", "fig3.json", "fig3.png"]
    assert exhibit.picture() == folder / "demo" / "exhibits" / DRAFT / "fig3.png"
    assert exhibit.compare() is None, "no comparison at all"


def test_claims_of_all_data_sets(folder: Path) -> None:
    assert Results(folder).claims().empty
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


# what is missing or broken


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda folder: Results(folder / "nowhere"), r"no folder of results at .*nowhere: run `make demo` first"),
        (lambda folder: Results(folder / "kernels")["demo"], "there is none; run `make demo` first"),
        (
            lambda folder: Results(folder).exhibit("photographs", JMLR, "table9"),
            rf"photographs has no exhibit {JMLR}/table9: choose one of {JMLR}/table4$",
        ),
        (
            lambda folder: Results(folder).exhibit("kernels", JMLR, "table4"),
            r"'kernels': choose one of photographs, demo, demo_web, demo_triplets$",
        ),
    ],
)
def test_what_is_not_there_is_one_sentence_with_what_is(folder: Path, ask, words: str) -> None:
    with pytest.raises(LookalikeError, match=words):
        ask(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", '"text"', "{}", b"\xff\xfe"])
def test_a_broken_sidecar_is_an_exhibit_that_says_so(folder: Path, content: str | bytes) -> None:
    sidecar = folder / "demo" / "exhibits" / JMLR / "table4.json"
    sidecar.write_bytes(content if isinstance(content, bytes) else content.encode())
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    assert exhibit.state == "failed"
    assert exhibit.problem.startswith(f"{sidecar} cannot be read (")
    assert exhibit.problem.endswith("delete it and run the same command again")
    assert Results(folder)["demo"].title == "DEMO", "the others tell of the data set"


def test_a_data_set_of_broken_exhibits_alone_is_listed(tmp_path: Path) -> None:
    add_exhibit(tmp_path, "demo", JMLR, "table4").write_text("{")
    dataset = Results(tmp_path)["demo"]
    assert (dataset.title, dataset.studies, dataset.not_run) == ("demo", [], "")


@pytest.mark.parametrize(
    "strange",
    [
        {"kind": None}, {"statuses": {"agrees": "many"}}, {"sources": "one"}, {"caption": ["a"]},
        {"state": "splendid"}, {"notes": [1]}, {"sheets": [{"title": "no rows"}]}, {"panels": [{"series": "none"}]},
        {"entries": [{"words": "a"}]},
    ],
    ids=str,
)  # fmt: skip
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


def test_results_are_found_by_the_variable_then_here_then_beside(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOOKALIKE_RESULTS", raising=False)
    notebooks = tmp_path / "notebooks"
    (notebooks / "deeper").mkdir(parents=True)
    monkeypatch.chdir(notebooks)
    assert Results.find().folder.resolve() == folder
    (notebooks / "results").mkdir()
    assert Results.find().folder.resolve() == folder, "an empty folder is no results"
    add_exhibit(notebooks / "results", "demo", JMLR, "table4")
    assert Results.find().folder.resolve() == notebooks / "results"
    monkeypatch.setenv("LOOKALIKE_RESULTS", str(folder))
    assert Results.find().folder == folder
    monkeypatch.setenv("LOOKALIKE_RESULTS", "elsewhere")
    with pytest.raises(LookalikeError, match="no results at elsewhere, which LOOKALIKE_RESULTS names: run `make demo`"):
        Results.find()
    monkeypatch.delenv("LOOKALIKE_RESULTS")
    monkeypatch.chdir("/")
    with pytest.raises(LookalikeError, match=r"no results at results or \.\./results: run `make demo`"):
        Results.find()
