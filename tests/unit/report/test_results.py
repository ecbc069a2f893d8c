"""What lies in a folder of results, whole, half made or broken."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from made_results import DRAFT, JMLR, add_claims, add_exhibit, edit_sidecar

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.report.exhibit import STATES, state_of
from lookalike.report.papers import GROUPS, ORDER, PAPERS, place_of, planned_exhibits
from lookalike.report.results import Results
from lookalike.report.rich import SIGNS, exhibit_html, markdown_html
from lookalike.studies.rooms import room_exhibits

ROOT = Path(__file__).parents[3]
NOT_RUN = "not run: put archive.tar at data/caltech256"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of two data sets of one study, one of them not run, and of two others."""
    results = tmp_path / "results"
    for name in ("table5", "fig6", "table4", "text", "fig2"):
        add_exhibit(results, "demo", JMLR, name, statuses={"not comparable": 3})
    add_exhibit(results, "demo", DRAFT, "fig3", kind="figure")
    add_exhibit(results, "photographs", JMLR, "table4", statuses={"not run": 3}, not_run=NOT_RUN)
    add_exhibit(results, "demo_web", JMLR, "table1", drawn_by="lookalike.exhibits.web_tables")
    add_exhibit(results, "demo_triplets", "finegrained", "kinds", drawn_by="lookalike.exhibits.triplet_tables")
    (results / "demo" / "exhibits" / "headline.txt").write_text("mAP 40 %\nExhibits: results/demo/exhibits/index.md\n")
    (results / "kernels" / "learners").mkdir(parents=True)
    (results / "report").mkdir()
    (results / "some-images").mkdir()
    return results


def names(results: Results, **chosen: str) -> list[str]:
    return [f"{exhibit.dataset}:{exhibit.key}" for exhibit in results.exhibits(**chosen)]


# what there is, in which order


def test_data_sets_come_by_study_real_ones_first_and_other_folders_are_passed_over(folder: Path) -> None:
    found = Results(folder).datasets
    assert [(one.id, one.study) for one in found] == [
        ("photographs", "category"),
        ("demo", "category"),
        ("demo_web", "web"),
        ("demo_triplets", "finegrained"),
    ]
    assert [one.not_run for one in found] == [NOT_RUN, None, None, None]
    assert [one.synthetic for one in found] == [False, True, True, True]
    assert found[1].title == "DEMO"
    assert found[1].headline == "mAP 40 %", "the line for the terminal is left out"


def test_exhibits_come_in_the_order_of_the_papers(folder: Path) -> None:
    assert names(Results(folder)) == [
        f"demo:{JMLR}/fig2",
        f"demo_web:{JMLR}/table1",
        f"photographs:{JMLR}/table4",
        f"demo:{JMLR}/table4",
        f"demo:{JMLR}/table5",
        f"demo:{JMLR}/fig6",
        f"demo:{JMLR}/text",
        f"demo:{DRAFT}/fig3",
        "demo_triplets:finegrained/kinds",
    ]


def test_exhibits_of_one_paper_or_one_data_set(folder: Path) -> None:
    results = Results(folder)
    assert names(results, paper=DRAFT) == [f"demo:{DRAFT}/fig3"]
    assert names(results, dataset="photographs") == [f"photographs:{JMLR}/table4"]
    assert names(results, paper="soml-aaai-2014") == names(results, dataset="kernels") == []


def test_an_exhibit_that_is_in_no_order_comes_last_by_number(tmp_path: Path) -> None:
    for name in ("fig12", "fig9", "fig10"):
        add_exhibit(tmp_path, "demo", JMLR, name)
    add_exhibit(tmp_path, "demo", "another", "table1")
    assert [exhibit.name for exhibit in Results(tmp_path).exhibits()] == ["fig9", "fig10", "fig12", "table1"]


def test_one_exhibit_or_a_sentence_with_those_that_there_are(folder: Path) -> None:
    results = Results(folder)
    assert results.exhibit("demo", JMLR, "table4") == results["demo"].exhibit(JMLR, "table4")
    with pytest.raises(
        LookalikeError, match=rf"photographs has no exhibit {JMLR}/table9: choose one of {JMLR}/table4$"
    ):
        results.exhibit("photographs", JMLR, "table9")
    with pytest.raises(LookalikeError, match=r"'kernels': choose one of photographs, demo, demo_web, demo_triplets$"):
        results.exhibit("kernels", JMLR, "table4")


def test_the_order_names_just_what_can_be_made() -> None:
    planned = {(one.paper, one.name) for one in planned_exhibits()}
    assert planned == {(paper, name) for paper, known in ORDER.items() for name in known}
    assert list(ORDER) == [*PAPERS, *GROUPS]
    assert {paper: one.citation for paper, one in PAPERS.items()} == ALL_PAPERS


def test_the_workflow_makes_nothing_that_is_not_planned() -> None:
    rules = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    folders = "|".join(map(re.escape, ORDER))
    made = set(re.findall(rf'"((?:{folders})/[a-z0-9_]+)"', rules))
    made |= set(room_exhibits("category"))
    assert {f"{JMLR}/table4", "learning/claims", "representation/palette"} <= made
    assert made <= {f"{one.paper}/{one.name}" for one in planned_exhibits()}


def test_panels_of_a_figure_and_tables_stand_where_the_reader_of_the_paper_meets_them() -> None:
    met = ["fig2", "table1", "table3", "fig3a", "fig3b", "fig4", "table4", "table5", "fig6", "text"]
    assert sorted(set(met), key=lambda name: place_of(JMLR, name)) == met


def test_what_is_missing_everywhere_counts_as_not_run(folder: Path) -> None:
    results = Results(folder)
    planned, missing = results.planned(), results.missing()
    assert (JMLR, "table4", "Table 4") in planned
    assert ("soml-aaai-2014", "table9", "Table 9") in missing
    assert (JMLR, "table4", "Table 4") not in missing
    states = results.states()
    assert list(states) == list(STATES)
    assert states["not run"] == len(missing) + 1
    assert sum(states.values()) == len(results.exhibits()) + len(missing)


# states


@pytest.mark.parametrize(
    ("statuses", "state"),
    [
        ({"agrees": 3}, "agrees"),
        ({"agrees": 3, "not comparable": 2, "no result": 1, "no printed value": 1}, "agrees"),
        ({"agrees": 30, "higher": 1}, "higher"),
        ({"lower": 2, "no result": 1}, "lower"),
        ({"agrees": 3, "higher": 1, "lower": 1}, "mixed"),
        ({"higher": 2, "lower": 0}, "higher"),
        ({"not comparable": 4}, "not comparable"),
        ({"no result": 4, "no printed value": 1}, "not comparable"),
        ({"not run": 4, "not comparable": 1}, "not comparable"),
        ({"not run": 4}, "not run"),
        ({}, "no printed number"),
        ({"no printed value": 2}, "no printed number"),
    ],
)
def test_one_rule_says_how_an_exhibit_stands(statuses: dict[str, int], state: str) -> None:
    assert state_of(statuses) == state
    assert state_of(statuses, NOT_RUN) == "not run"
    assert state in STATES


def test_counts_of_printed_numbers(tmp_path: Path) -> None:
    statuses = {"agrees": 3, "higher": 1, "no result": 2, "no printed value": 5}
    add_exhibit(tmp_path, "demo", JMLR, "table4", statuses=statuses, status="3 agree, 1 higher")
    exhibit = Results(tmp_path).exhibit("demo", JMLR, "table4")
    assert (exhibit.n_printed, exhibit.n_decided, exhibit.status) == (6, 4, "3 agree, 1 higher")


# files of an exhibit


def test_files_of_a_table(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    assert [path.name for path in exhibit.files] == ["table4.csv", "table4.json", "table4.md", "table4_compare.csv"]
    assert list(exhibit.table()["method"]) == ["oasis", "euclidean"]
    compared = exhibit.compare()
    assert compared is not None
    assert list(compared["status"]) == ["not comparable"] * 3
    assert list(compared["reason"]) == [""] * 3, "an empty text is no missing number"
    assert compared["ours"].dtype == "float64"
    assert (exhibit.markdown() or "").startswith("# table4")
    assert exhibit.picture() is None


def test_files_of_a_figure(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", DRAFT, "fig3")
    assert exhibit.picture() == folder / "demo" / "exhibits" / DRAFT / "fig3.png"
    assert exhibit.picture("svg") is None
    assert exhibit.compare() is None, "a comparison without a row"
    assert exhibit.markdown() is None


def test_a_name_that_begins_another_takes_none_of_its_files(tmp_path: Path) -> None:
    for name in ("fig1", "fig10", "fig1_b"):
        add_exhibit(tmp_path, "demo", JMLR, name, kind="figure")
    files = Results(tmp_path).exhibit("demo", JMLR, "fig1").files
    assert [path.name for path in files] == ["fig1.csv", "fig1.json", "fig1.png", "fig1_compare.csv"]


def test_a_picture_without_numbers_says_so(folder: Path) -> None:
    (folder / "demo" / "exhibits" / JMLR / "fig2.csv").unlink()
    exhibit = Results(folder).exhibit("demo", JMLR, "fig2")
    assert not exhibit.has_table
    with pytest.raises(LookalikeError, match="fig2 of demo has no numbers"):
        exhibit.table()


def test_paths_of_the_projects_own_files_are_told_without_its_folder(tmp_path: Path) -> None:
    sources = ["/home/me/clone/workflow/resources/claims.csv", "results/demo/metrics.parquet"]
    add_exhibit(tmp_path, "demo", JMLR, "table4", sources=sources)
    told = Results(tmp_path).exhibit("demo", JMLR, "table4").sources
    assert told == ("workflow/resources/claims.csv", "results/demo/metrics.parquet")


# claims


def test_claims_of_all_data_sets_with_the_paper_that_they_are_of(folder: Path) -> None:
    own = {"id": ["a"], "place": ["section 1"], "claim": ["OASIS is fast."], "verdict": ["holds"], "evidence": ["3x"]}
    own |= {"rule": ["fast"], "decided_by": [""]}
    add_claims(folder, "demo", "learning", pd.DataFrame({**own, "paper": [DRAFT]}))
    added = pd.DataFrame({**own, "printed_verdict": ["fails"]})
    add_claims(folder, "demo_triplets", "finegrained", added, drawn_by="lookalike.exhibits.triplet_claims")
    claims = Results(folder).claims()
    assert list(claims)[:4] == ["dataset", "id", "paper", "place"]
    assert claims[["dataset", "paper", "printed_verdict", "decided_by"]].to_numpy().tolist() == [
        ["demo", DRAFT, "", ""],
        ["demo_triplets", "deep-ranking-cvpr-2014", "fails", ""],
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
    assert results.missing() == results.planned()
    assert "make demo" in results._repr_html_()
    with pytest.raises(LookalikeError, match="there is none; run `make demo` first"):
        results["demo"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '"text"',
        "{}",
        '{"kind": "poem"}',
        '{"kind": "table", "statuses": {"agrees": "many"}}',
        '{"kind": "table", "sources": "one"}',
        '{"kind": "table", "caption": ["a"]}',
        b"\xff\xfe",
    ],
)
def test_a_broken_sidecar_is_an_exhibit_that_says_so(folder: Path, content: str | bytes) -> None:
    sidecar = folder / "demo" / "exhibits" / JMLR / "table4.json"
    sidecar.write_bytes(content if isinstance(content, bytes) else content.encode())
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    assert exhibit.state == "not run"
    assert exhibit.title == "Table 4", "the catalogue knows it"
    assert exhibit.problem is not None
    assert exhibit.problem.startswith(f"{sidecar} cannot be read (")
    assert exhibit.problem.endswith("delete it and run the same command again")
    assert exhibit.not_run == f"not run: {exhibit.problem}"
    assert Results(folder)["demo"].title == "DEMO", "the others tell of the data set"
    assert "delete it" in exhibit_html(exhibit)


@pytest.mark.parametrize("content", ['a,b\n1,"2', "a,b\n1,2\n1,2,3,4\n", b"a,b\n\xff\xfe,1\n"])
def test_a_broken_table_is_one_sentence(folder: Path, content: str | bytes) -> None:
    path = folder / "demo" / "exhibits" / JMLR / "table4.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LookalikeError, match=r"^cannot read .*table4.csv \(.+\): delete it and run the same command"):
        Results(folder).exhibit("demo", JMLR, "table4").table()


@pytest.mark.parametrize("name", ["table4_compare.csv", "table4.md"])
def test_other_broken_files_are_one_sentence(folder: Path, name: str) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    (exhibit.folder / name).write_bytes(b"\xff\xfe\n\xff")
    with pytest.raises(LookalikeError, match=rf"^cannot read .*{re.escape(name)}"):
        (exhibit.markdown if name.endswith("md") else exhibit.compare)()


def test_a_comparison_of_other_columns_is_one_sentence(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    (exhibit.folder / "table4_compare.csv").write_text("a,b\n1,2\n")
    with pytest.raises(LookalikeError, match="lacks the columns subset, "):
        exhibit.compare()


def test_broken_claims_are_one_sentence(folder: Path) -> None:
    add_claims(folder, "demo", "learning", pd.DataFrame({"id": ["a"]}))
    with pytest.raises(LookalikeError, match=r"claims.csv \(it lacks the columns place, claim"):
        Results(folder).claims()


def test_a_table_without_columns_is_empty(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    (exhibit.folder / "table4.csv").write_text("\n")
    assert exhibit.table().empty


def test_what_a_killed_job_left_is_passed_over(folder: Path) -> None:
    (folder / "demo" / "exhibits" / JMLR / ".table9.123.part.json").write_text("{")
    assert "table9" not in " ".join(names(Results(folder)))


def test_a_data_set_of_broken_exhibits_alone_is_listed(tmp_path: Path) -> None:
    add_exhibit(tmp_path, "demo", JMLR, "table4").write_text("{")
    dataset = Results(tmp_path)["demo"]
    assert (dataset.title, dataset.study) == ("demo", "")
    assert dataset.not_run is not None


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


# in a notebook


def test_a_table_shows_itself(folder: Path) -> None:
    shown = Results(folder).exhibit("demo", JMLR, "table4")._repr_html_()
    assert "<td>OASIS</td>" in shown
    assert "<td>a | b</td>" in shown
    assert '<td style="text-align: right">0.25</td>' in shown
    assert shown.count("Caption of table4.") == 1
    assert "○" in shown
    assert "not comparable" in shown
    assert "synthetic" in shown


def test_a_figure_shows_itself_without_its_file(folder: Path) -> None:
    shown = Results(folder).exhibit("demo", DRAFT, "fig3")._repr_html_()
    assert re.search(r'<img [^>]*alt="fig3, figure of DEMO" src="data:image/png;base64,iVBOR', shown)
    assert "no printed number" in shown


def test_what_is_not_run_shows_what_to_do(folder: Path) -> None:
    results = Results(folder)
    assert NOT_RUN in results.exhibit("photographs", JMLR, "table4")._repr_html_()
    assert NOT_RUN in results["photographs"]._repr_html_()
    assert NOT_RUN in results._repr_html_()


def test_texts_are_escaped(tmp_path: Path) -> None:
    bad = "<script>alert(1)</script>"
    sidecar = add_exhibit(tmp_path, "demo", JMLR, "table4", title=bad, caption=bad, not_run=bad)
    figure = add_exhibit(tmp_path, "demo", JMLR, "fig6", kind="figure", title='"' + bad, caption=bad)
    edit_sidecar(figure, dataset_title=bad, statuses={bad: 1}, status=bad)
    sidecar.with_suffix(".csv").write_text(f"{bad}\n{bad}\n")
    sidecar.with_suffix(".md").write_text(f"| {bad} |\n|---|\n| {bad} |\n\n{bad}\n")
    (tmp_path / "demo" / "exhibits" / "headline.txt").write_text(bad)
    results = Results(tmp_path)
    for shown in (results, results["demo"], *results.exhibits()):
        assert "<script" not in shown._repr_html_()
    sidecar.with_suffix(".md").unlink()
    shown = Results(tmp_path).exhibit("demo", JMLR, "table4")._repr_html_()
    assert "&lt;script" in shown
    assert "<script" not in shown
    assert '"&quot;&lt;script' in Results(tmp_path).exhibit("demo", JMLR, "fig6")._repr_html_()


def test_an_exhibit_whose_files_are_gone_or_broken_shows_a_sentence(folder: Path) -> None:
    exhibit = Results(folder).exhibit("demo", JMLR, "table4")
    (exhibit.folder / "table4.md").write_bytes(b"\xff")
    assert "cannot read" in exhibit._repr_html_()
    for suffix in ("md", "csv"):
        (exhibit.folder / f"table4.{suffix}").unlink()
    assert "nothing to show" in exhibit._repr_html_()


def test_a_long_table_is_cut(tmp_path: Path) -> None:
    sidecar = add_exhibit(tmp_path, "demo", JMLR, "text")
    sidecar.with_suffix(".md").unlink()
    sidecar.with_suffix(".csv").write_text("number\n" + "\n".join(map(str, range(100))))
    assert "and 40 rows more" in Results(tmp_path).exhibit("demo", JMLR, "text")._repr_html_()


def test_markdown_becomes_tables_and_paragraphs() -> None:
    shown = markdown_html("# Title\n\n| a | b |\n|---|--:|\n| **1** | 2 |\n\n**Bold** and\nplain & more\n")
    assert "Title" not in shown
    assert '<th scope="col">a</th><th scope="col" style="text-align: right">b</th>' in shown
    assert '<td><strong>1</strong></td><td style="text-align: right">2</td>' in shown
    assert "<p><strong>Bold</strong> and plain &amp; more</p>" in shown


def test_every_state_has_a_sign_of_its_own() -> None:
    assert set(SIGNS) == set(STATES)
    assert len(set(SIGNS.values())) == len(STATES)
