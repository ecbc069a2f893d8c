"""What a notebook shows of one paper, and what it says where there is nothing to show."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.report.notebooks import PaperReader
from lookalike.report.results import Results

PAPER = "soml-aaai-2014"


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """One data set with one table, claims on two representations and metrics."""
    exhibits = tmp_path / "buildings" / "exhibits"
    for paper, name, text in (
        (PAPER, "table1", "method,map\nS-TG <b>,40\n"),
        (
            "landmark",
            "claims",
            "id,place,claim,representation,verdict,evidence,rule,decided_by\n"
            "a,Table 1,It is sparse.,small,holds,12 of 12,r,d\n"
            "a,Table 1,It is sparse.,large,does not hold,1 of 12,r,d\n",
        ),
    ):
        (exhibits / paper).mkdir(parents=True)
        told = {
            "kind": "table",
            "title": "Table 1",
            "caption": "Precision by building.",
            "dataset_title": "buildings",
            "synthetic": True,
            "statuses": {},
            "drawn_by": "lookalike.exhibits.landmark_tables",
        }
        (exhibits / paper / f"{name}.json").write_text(json.dumps(told))
        (exhibits / paper / f"{name}.csv").write_text(text)
    row = ("buildings", "small", "hall", "soml-tg", 0, "map", 0.4)
    columns = ["dataset", "representation", "subset", "method", "fold", "metric", "value"]
    pd.DataFrame([row], columns=columns).to_parquet(tmp_path / "buildings" / "metrics.parquet")
    return Results(tmp_path)


def test_an_exhibit_is_shown_with_its_caption_and_as_text(results: Results) -> None:
    shown = PaperReader(PAPER, results).show("table1")
    assert "S-TG &lt;b&gt;" in shown._repr_html_()
    assert repr(shown) == "Table 1, buildings (synthetic): Precision by building."


def test_an_exhibit_that_was_not_made_says_which_commands_make_it(results: Results) -> None:
    said = repr(PaperReader(PAPER, results).show("table3"))
    assert said.startswith("Table 3 is not among the results: ")
    assert "make demo" in said
    assert "snakemake --cores 2 aaai2014" in said


def test_an_exhibit_that_no_study_makes_is_an_error_that_names_those_there_are(results: Results) -> None:
    with pytest.raises(LookalikeError, match=r"no exhibit 'table10'; there are: table1, table2"):
        PaperReader(PAPER, results).show("table10")


def test_a_paper_that_there_is_not_is_an_error(results: Results) -> None:
    with pytest.raises(LookalikeError, match="oasis-jmlr-2010"):
        PaperReader("soml", results)


def test_the_overview_has_every_exhibit_with_its_state(results: Results) -> None:
    lines = repr(PaperReader(PAPER, results)).splitlines()
    assert "Results: buildings (synthetic)." in lines
    assert "Table 1: buildings (synthetic): no printed number" in lines
    assert "Table 9: not run" in lines


def test_claims_say_what_each_verdict_is_about(results: Results) -> None:
    claims = PaperReader(PAPER, results).claims()
    assert "Verdicts: 1 holds, 1 does not hold." in repr(claims)
    assert "✓ holds" in claims.html
    assert "buildings (synthetic), large: 1 of 12" in claims.html
    assert "No verdict" in repr(PaperReader("oasis-nips-2009", results).claims())


def test_metrics_name_their_source_and_are_only_those_of_the_paper(results: Results) -> None:
    metrics = PaperReader(PAPER, results).metrics()
    assert metrics["source"].tolist() == ["buildings (synthetic)"]
    assert metrics["value"].tolist() == [0.4]
    assert PaperReader("oasis-jmlr-2010", results).metrics().empty


def test_without_any_results_all_says_how_to_make_some(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOOKALIKE_RESULTS", str(tmp_path / "nowhere"))
    paper = PaperReader(PAPER)
    for shown in (paper.overview(), paper.show("table1"), paper.claims()):
        assert "make demo" in repr(shown)
        assert "make demo" in shown.html
    assert list(paper.metrics().columns)[-1] == "source"
