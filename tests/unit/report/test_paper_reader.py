"""What a notebook shows of one paper, and what it says where there is nothing to show."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from made_results import add_claims, add_exhibit

from lookalike.core.errors import LookalikeError
from lookalike.report.notebooks import PaperReader
from lookalike.report.results import Results

PAPER = "soml-aaai-2014"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """One data set with one table, claims on two representations and metrics."""
    told = {"study": "landmark", "synthetic": True, "dataset_title": "buildings"}
    sheet = {"title": "", "heading": "", "heads": ["method", "map"], "rows": [["S-TG <b>", "40"]], "printed": []}
    add_exhibit(
        tmp_path, "buildings", PAPER, "table1", label="Table 1", title="By building",
        caption="Precision by building. Two sentences.", sheets=[{**sheet, "numbers": [False, True]}],
        notes=["A <note>."], **told,
    )  # fmt: skip
    add_exhibit(tmp_path, "buildings", PAPER, "table2", state="not run", problem="not run: put X at Y", **told)
    add_exhibit(tmp_path, "buildings", PAPER, "fig1", kind="figure", title='"Curves"', **told)
    columns = ["id", "paper", "place", "claim", "representation", "verdict", "evidence", "rule", "decided_by"]
    claim = ["a", PAPER, "Table 1", "It is sparse."]
    rows = [[*claim, "small", "holds", "12 of 12", "r", "d"], [*claim, "large", "does not hold", "1 of 12", "r", "d"]]
    add_claims(tmp_path, "buildings", "landmark", pd.DataFrame(rows, columns=columns), **told)
    row = ("small", "hall", 0, "soml-tg", "map", math.nan, 0.4)
    columns = ["representation", "subset", "fold", "method", "metric", "x", "value"]
    (tmp_path / "buildings" / "landmark").mkdir()
    pd.DataFrame([row], columns=columns).to_parquet(tmp_path / "buildings" / "landmark" / "metrics.parquet")
    return Results(tmp_path)


def test_an_exhibit_is_shown_with_its_caption_and_notes_and_as_text(results: Results) -> None:
    shown = PaperReader(PAPER, results).show("table1")
    html = shown._repr_html_()
    assert html == results.exhibit("buildings", PAPER, "table1")._repr_html_()
    assert "S-TG &lt;b&gt;" in html
    assert "A &lt;note&gt;." in html
    assert "· no printed number" in html
    assert repr(shown) == "Table 1: By building, buildings (synthetic): Precision by building. Two sentences."


def test_a_figure_shows_itself_without_its_file_and_what_is_not_run_or_broken_a_sentence(results: Results) -> None:
    figure = results.exhibit("buildings", PAPER, "fig1")
    alternative = 'alt="&quot;Curves&quot;, figure of buildings"'
    assert f'{alternative} src="data:image/png;base64,iVBOR' in figure._repr_html_()
    assert "Not run: put X at Y." in results.exhibit("buildings", PAPER, "table2")._repr_html_()
    picture = figure.picture()
    assert picture
    picture.unlink()
    picture.mkdir()
    assert "<table" not in results.exhibit("buildings", PAPER, "fig1")._repr_html_()


def test_an_exhibit_that_was_not_made_says_which_there_are_and_what_makes_them(results: Results) -> None:
    said = repr(PaperReader(PAPER, results).show("table3"))
    assert said.startswith("table3 is not among the results (there are: fig1, table1, table2): ")
    assert "make demo" in said
    assert "snakemake --cores 2 aaai2014" in said


def test_a_paper_that_there_is_not_is_an_error(results: Results) -> None:
    with pytest.raises(LookalikeError, match="oasis-jmlr-2010"):
        PaperReader("soml", results)


def test_the_overview_has_every_exhibit_with_its_state(results: Results) -> None:
    lines = repr(PaperReader(PAPER, results)).splitlines()
    assert "Results: buildings (synthetic)." in lines
    assert "Table 1: By building: buildings (synthetic): no printed number" in lines
    assert "table2: buildings (synthetic): not run" in lines


def test_claims_say_what_each_verdict_is_about(results: Results) -> None:
    claims = PaperReader(PAPER, results).claims()
    assert "Verdicts: 1 holds, 1 does not hold." in repr(claims)
    assert "✓ holds" in claims.html
    assert "buildings (synthetic), large: 1 of 12" in claims.html
    assert "No verdict" in repr(PaperReader("oasis-nips-2009", results).claims())


def test_metrics_name_their_source_and_are_only_those_of_the_paper(results: Results) -> None:
    metrics = PaperReader(PAPER, results).metrics()
    assert metrics["source"].tolist() == ["buildings (synthetic)"]
    assert metrics[["study", "value"]].to_numpy().tolist() == [["landmark", 0.4]]
    assert PaperReader("oasis-jmlr-2010", results).metrics().empty


def test_without_any_results_all_says_how_to_make_some(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOOKALIKE_RESULTS", str(tmp_path / "nowhere"))
    paper = PaperReader(PAPER)
    for shown in (paper.overview(), paper.show("table1"), paper.claims()):
        assert "make demo" in repr(shown)
        assert "make demo" in shown.html
    assert list(paper.metrics().columns)[-1] == "source"
