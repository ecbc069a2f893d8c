"""What a notebook shows of one paper, and what it says where there is nothing to show."""

import pytest
from made_report import CLAIMS, DEEP, JMLR, SOML, edit_sidecar, write_claims

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.results import write_results
from lookalike.report.notebooks import PaperReader
from lookalike.report.results import Results


def test_an_exhibit_is_shown_with_its_caption_and_notes_and_as_text(folder):
    edit_sidecar(folder / "demo" / "exhibits" / JMLR / "table4.json", notes=["A <note>."])
    results = Results(folder)
    cell = PaperReader(JMLR, results).show("table4")
    first, second = cell._repr_html_().split("<hr>")
    assert second == results.exhibit("demo", JMLR, "table4")._repr_html_()
    for part in (">41 ± 1.6<", "<li>A &lt;note&gt;.</li>"):
        assert part in second, part
    assert "– not run</p>" in first
    assert "Not run: put archive.tar at data/caltech256." in first
    lines = repr(cell).split("\n\n")
    assert lines[1].startswith("Table 4: Precision of the compared methods, demo title: Precision of all")


def test_a_figure_shows_itself_also_without_its_file(folder):
    figure = Results(folder).exhibit("demo_triplets", DEEP, "fig5")
    alternative = 'alt="Figure 5: Differences, figure of demo_triplets title"'
    assert f'{alternative} src="data:image/png;base64,iVBOR' in figure._repr_html_()
    picture = figure.picture()
    assert picture
    picture.unlink()
    picture.mkdir()
    assert "<table" not in figure._repr_html_()
    (folder / "demo" / "exhibits" / JMLR / "fig6.png").write_text("")
    assert 'base64,"' in Results(folder).exhibit("demo", JMLR, "fig6")._repr_html_()


def test_what_was_not_made_says_what_there_is_and_what_makes_it(toys):
    said = repr(PaperReader(JMLR, Results(toys)).show("table9"))
    assert said.startswith("table9 is not among the results (there are: table4, fig4, fig6): ")
    assert "make demo" in said
    assert ".venv/bin/snakemake --cores 2 jmlr2010" in said
    with pytest.raises(LookalikeError, match=f"there is no paper 'soml'; there are: {JMLR}"):
        PaperReader("soml", Results(toys))


def test_the_overview_has_every_exhibit_with_its_state(toys):
    reader = PaperReader(JMLR, Results(toys))
    lines = repr(reader).splitlines()
    assert "Results: caltech256 title, demo title, websim_demo title (synthetic)." in lines
    states = "caltech256 title: not run; demo title: drawn"
    assert f"Table 4: Precision of the compared methods: {states}" in lines
    row = reader._repr_html_().partition("Table 4: Precision of the compared methods</td>")[2].partition("</tr>")[0]
    assert f">{states}</td>" in row


def test_claims_say_what_each_verdict_is_about(folder):
    write_claims(folder, *CLAIMS)
    claims = PaperReader(JMLR, Results(folder)).claims()
    assert repr(claims).splitlines() == [
        "✓ holds: Primary: OASIS is best. (section 5, Table 4)",
        "✗ does not hold: MCML is near. (abstract)",
    ]
    assert "demo title: +5.5 points" in claims.html
    assert "? undecided: It is sparse. (Table 1)" in repr(PaperReader(SOML, Results(folder)).claims())
    assert "Not run: snakemake triplets" in PaperReader(DEEP, Results(folder)).claims().html


def test_metrics_name_their_source_and_are_only_those_of_the_paper(folder):
    for place, path in enumerate(("demo", "demo/human", "websim_demo", "caltech256")):
        study = {"demo": "category", "websim_demo": "web"}.get(path, "human")
        row = {"study": study, "setting": "", "metric": "map", "value": place / 10}
        (folder / path).mkdir(exist_ok=True)
        write_results([] if path == "caltech256" else [row], folder / path / "results.parquet")
    metrics = PaperReader(JMLR, Results(folder)).metrics()
    assert metrics["source"].tolist() == ["demo title", "websim_demo title (synthetic)"]
    assert metrics[["study", "value"]].to_numpy().tolist() == [["category", 0.0], ["web", 0.2]]
    assert PaperReader(SOML, Results(folder)).metrics().empty
    # of the one table of results, the rows of the study
    rows = [{"study": study, "setting": "codebook=10k", "metric": "map", "value": 0.5} for study in ("web", "human")]
    write_results(rows, folder / "websim_demo" / "results.parquet")
    found = PaperReader(JMLR, Results(folder)).metrics()
    assert found.loc[found["codebook"] == "10k", ["study", "value"]].to_numpy().tolist() == [["web", 0.5]]
    assert len(found) == 2
