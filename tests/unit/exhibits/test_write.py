"""The files of an exhibit, its sidecar, the index and the headline."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.catalogue import EXHIBITS, Numbers
from lookalike.exhibits.compare import COLUMNS
from lookalike.exhibits.reference import PAPERS
from lookalike.exhibits.write import headline, write_exhibit, write_index

JMLR = "oasis-jmlr-2010"


@pytest.fixture(scope="module")
def everything(numbers, context, reference, tmp_path_factory):
    """All exhibits written once."""
    folder = tmp_path_factory.mktemp("exhibits")
    for paper, name in EXHIBITS:
        write_exhibit(
            paper,
            name,
            numbers=numbers,
            context=context,
            reference=reference,
            folder=folder / paper,
            sources=["results/caltech256/metrics.parquet"],
        )
    return folder


def test_the_catalogue_has_the_exhibits_of_the_contract():
    assert set(EXHIBITS) == {
        (JMLR, "table4"),
        (JMLR, "fig5"),
        (JMLR, "fig6"),
        (JMLR, "text"),
        (JMLR, "table5"),
        (JMLR, "fig7"),
        (JMLR, "fig8"),
        (JMLR, "fig9"),
        ("oasis-2009-draft", "table1"),
        ("oasis-2009-draft", "table2"),
        ("oasis-2009-draft", "fig3"),
        ("oasis-2009-draft", "fig4"),
        ("oasis-2009-draft", "fig5"),
        ("representation", "ablations"),
        ("learning", "comparison"),
        ("learning", "claims"),
        ("learning", "mcml"),
        ("learning", "symmetry"),
        ("learning", "loss_bound"),
    }


@pytest.mark.parametrize(("paper", "name"), EXHIBITS)
def test_every_file_of_the_contract_is_there(everything, paper, name):
    kinds = {"table": ["csv", "md", "tex"], "figure": ["png", "svg", "pdf", "csv"]}[EXHIBITS[paper, name].kind]
    expected = {f"{name}.{kind}" for kind in kinds} | {f"{name}_compare.csv", f"{name}_compare.md"}
    sidecar = json.loads((everything / paper / f"{name}.json").read_text())
    assert set(sidecar["files"]) == expected
    for file in expected:
        assert (everything / paper / file).stat().st_size > (80 if EXHIBITS[paper, name].has_printed else 0)
    assert not list((everything / paper).glob(".*")), "no temporary file stays"


@pytest.mark.parametrize(("paper", "name"), EXHIBITS)
def test_the_sidecar_tells_what_is_shown(everything, paper, name):
    exhibit = EXHIBITS[paper, name]
    sidecar = json.loads((everything / paper / f"{name}.json").read_text())
    caption = sidecar["caption"]
    if exhibit.paper != "learning":
        assert (exhibit.title in caption) == exhibit.of_own_representation
    facts = ["Var10 (10 classes)", "50 classes", "5 random partitions", "40 training"]
    # what no test image is ranked for does not speak of queries
    of_training = name in ("symmetry", "loss_bound", "table5", "table2", "text")
    assert ("each test image queries all others" in caption) is not of_training
    facts += [] if of_training else ["25 test"]
    for fact in ("Caltech-256", *(facts if name != "text" else ())):
        assert fact in caption
    assert "Not comparable" not in caption
    assert "50 classes (50 classes)" not in caption
    if exhibit.has_printed or paper == "representation":
        assert ("standard error" in caption) == (exhibit.kind == "figure")
        assert ("standard deviation" in caption) is True
    assert sidecar["sources"] == ["results/caltech256/metrics.parquet"]
    table = pd.read_csv(everything / paper / f"{name}_compare.csv")
    assert tuple(table.columns) == COLUMNS
    assert sum(sidecar["statuses"].values()) == len(table)
    assert sidecar["status"].split()[0].isdigit() if exhibit.has_printed else sidecar["status"] == ""
    assert sidecar["not_run"] is None
    assert (sidecar["dataset"], sidecar["dataset_title"]) == ("caltech256", "Caltech-256")
    drawn_by = {
        "text": "text_numbers",
        "table4": "tables",
        "table1": "tables",
        "table5": "runtime",
        "table2": "runtime",
        "comparison": "comparison_table",
        "claims": "claims",
        "fig6": "figures",
        "ablations": "ablations",
    }
    assert sidecar["drawn_by"] == f"lookalike.exhibits.{drawn_by.get(name, sidecar['drawn_by'].rpartition('.')[2])}"
    assert importlib.util.find_spec(sidecar["drawn_by"]) is not None


def test_what_no_paper_prints_is_not_compared(everything):
    for exhibit in ("representation/ablations", "learning/comparison", "learning/claims"):
        text = (everything / f"{exhibit}_compare.md").read_text()
        assert text == "No paper prints these numbers.\n"


def test_a_star_is_explained_only_where_a_table_has_one(everything, metrics, context, reference, tmp_path):
    assert "*: the paper prints no number" in (everything / JMLR / "table4.md").read_text()
    assert "*:" not in (everything / "oasis-2009-draft" / "table1.md").read_text()
    ten = replace(context, subsets=context.subsets[:1])
    write_exhibit(JMLR, "table4", numbers=Numbers(metrics), context=ten, reference=reference, folder=tmp_path)
    assert "*" not in (tmp_path / "table4.md").read_text()
    reasons = {("var10", "oasis"): "more than 600 s (1 of 5 folds)"}
    failed = replace(ten, not_converged=reasons)
    write_exhibit(JMLR, "table4", numbers=Numbers(metrics), context=failed, reference=reference, folder=tmp_path)
    text = (tmp_path / "table4.md").read_text()
    assert "*: no number of ours, since a fit did not end within its time limit: OASIS on Var10: more than 600" in text
    assert "*: the paper" not in text


def test_the_comparison_reads_as_a_table(everything):
    text = (everything / JMLR / "fig5_compare.md").read_text()
    assert "| var10     | OASIS     | map" in text
    assert "saturation_steps" in text
    assert "Agrees: |ours - printed| <= 2 sqrt" in text


def test_the_same_numbers_give_the_same_bytes(everything, numbers, context, reference, tmp_path):
    for paper, name in ((JMLR, "table4"), (JMLR, "table5"), (JMLR, "fig6"), ("learning", "claims")):
        write_exhibit(paper, name, numbers=numbers, context=context, reference=reference, folder=tmp_path)
        for file in tmp_path.glob(f"{name}*"):
            if file.suffix != ".json":
                assert file.read_bytes() == (everything / paper / file.name).read_bytes(), file.name


def test_synthetic_captions_say_so(metrics, curves, reference, synthetic, tmp_path):
    for paper, name in EXHIBITS:
        caption = EXHIBITS[paper, name].caption(synthetic)
        assert "Synthetic images" in caption
        told = "Not comparable with the printed numbers: synthetic images." in caption
        assert told == EXHIBITS[paper, name].of_own_representation
    write_exhibit(JMLR, "table4", numbers=Numbers(metrics), context=synthetic, reference=reference, folder=tmp_path)
    assert json.loads((tmp_path / "table4.json").read_text())["statuses"] == {"not comparable": 8, "no result": 12}


def test_where_nothing_was_run_every_exhibit_is_written_and_says_why(reference, missing, tmp_path):
    sentence = "not run: put 256_ObjectCategories.tar at data/caltech256"
    for paper, name in EXHIBITS:
        written = write_exhibit(
            paper, name, numbers=Numbers(), context=missing, reference=reference, folder=tmp_path / paper
        )
        assert all(path.is_file() for path in written)
        sidecar = json.loads((tmp_path / paper / f"{name}.json").read_text())
        assert sidecar["not_run"] == sentence
        assert sentence in sidecar["caption"]
        has_printed = EXHIBITS[paper, name].has_printed
        assert set(sidecar["statuses"]) == ({"not run"} if has_printed else set())
        statuses = set(pd.read_csv(tmp_path / paper / f"{name}_compare.csv")["status"])
        assert statuses == ({sentence} if has_printed else set())


def test_index_lists_every_exhibit_with_caption_and_status(everything):
    path = write_index(everything, title="Caltech-256", headline="var10  mAP  OASIS 33.0 ± 1.0 %\n")
    text = path.read_text()
    assert path == everything / "index.md"
    assert text.startswith("# Caltech-256: exhibits")
    assert "var10  mAP  OASIS 33.0 ± 1.0 %" in text
    for paper, name in EXHIBITS:
        sidecar = json.loads((everything / paper / f"{name}.json").read_text())
        assert sidecar["caption"] in text
        assert sidecar["status"] in text
        assert f"({paper}/{name}.csv)" in text
    assert f"![Figure 6]({JMLR}/fig6.png)" in text


def test_captions_tell_selections_at_an_edge_and_reasons_by_subset(context):
    caption = EXHIBITS[JMLR, "fig5"].caption
    assert "past the step" not in caption(context)
    assert "validation stop at C = 0.1, mean over folds" in caption(context)
    assert "dotted" not in caption(replace(context, selected_steps={}))
    ends = {"var10": (True, False, True, False, False), "classes50": (False,) * 5}
    of_oasis = {(subset, "oasis"): flags for subset, flags in ends.items()}
    selection = "Selection ended at an end of what was tried: OASIS: in 2 of 10 folds the end of the grid."
    stop = "In 2 of 10 folds the validation stop at C = 0.1 is the last traced step."
    at_ends = replace(context, at_grid_edge=of_oasis, traced_stop_at_last_step=ends)
    for name, told, other in (("fig5", stop, selection), ("fig6", selection, stop), ("table4", selection, stop)):
        tell = EXHIBITS[JMLR, name].caption
        assert told in tell(at_ends)
        assert other not in tell(at_ends)
        assert told not in tell(context)
        assert told not in tell(replace(at_ends, not_run="put X at Y"))
    short = replace(context.subsets[1], why_not_comparable="49 of the paper's 50 classes")
    mixed = caption(replace(context, subsets=(context.subsets[0], short)))
    assert "Not comparable with the printed numbers: 49 of the paper's 50 classes (50 classes)." in mixed
    assert "Hollow markers" in mixed


def test_index_has_papers_first_and_claims_after_what_they_rest_on(everything):
    text = write_index(everything, title="Caltech-256").read_text()
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == [*PAPERS.values(), "Learning", "Representation"]
    assert text.index("### Methods compared") < text.index("### Claims of the papers") < text.index("## Representation")


def test_the_sidecar_of_claims_has_its_rows(everything):
    sidecar = json.loads((everything / "learning" / "claims.json").read_text())
    table = pd.read_csv(everything / "learning" / "claims.csv", keep_default_na=False)
    assert sidecar["rows"] == table.to_dict("records")
    assert {"verdict", "evidence", "decided_by"} <= set(sidecar["rows"][0])
    assert "rows" not in json.loads((everything / JMLR / "table4.json").read_text())


@pytest.mark.parametrize(
    ("paper", "name", "told"),
    [
        (JMLR, "table4", "OASIS in 3 of 5 folds (Var10)"),
        (JMLR, "table5", "OASIS in 3 of 5 folds (Var10); LMNN in 1 of 5 folds (50 classes)"),
    ],
)
def test_captions_tell_what_stopped_at_its_limit(numbers, context, reference, paper, name, told):
    exhibit = EXHIBITS[paper, name]
    stopped = replace(context, stopped_at_limit={("var10", "oasis"): (3, 5), ("classes50", "lmnn"): (1, 5)})
    sentence = f"Stopped at the limit of iterations: {told}."
    assert sentence in exhibit.caption(stopped, exhibit.draw(numbers, stopped, reference))
    assert "Stopped at" not in exhibit.caption(context, exhibit.draw(numbers, context, reference))


def test_index_lists_classes_left_out(tmp_path):
    columns = ["label", "usable", "reason"]
    rows = [
        ("012.birdbath", 63, "63 usable images, 65 needed"),
        ("129.leopards-101", 190, "not in the list"),
        ("250.zebra", 60, "60 usable images, 65 needed"),
    ]
    left_out = {"var10": pd.DataFrame([], columns=columns), "classes249": pd.DataFrame(rows, columns=columns)}
    text = write_index(tmp_path, title="Caltech-256", left_out=left_out).read_text()
    line = (
        "- classes249: 012.birdbath (63 usable), 250.zebra (60 usable): 65 needed; "
        "129.leopards-101 (190 usable): not in the list"
    )
    assert text.endswith(f"## Classes left out\n\n{line}\n")
    assert "var10" not in text
    none = write_index(tmp_path, title="Caltech-256", left_out={"var10": left_out["var10"]}).read_text()
    assert "left out" not in none


def test_index_takes_a_sidecar_of_another_kind(tmp_path):
    (tmp_path / "representation").mkdir()
    (tmp_path / "representation" / "palette.json").write_text('{"name": "palette", "caption": "Colours."}')
    assert "Colours." in write_index(tmp_path, title="demo").read_text()


def test_headline_gives_mean_average_precision_in_percent(metrics, context, synthetic, missing):
    lines = headline(metrics, context).splitlines()
    assert lines[0] == "var10      mAP  Euclidean 23.0 ± 1.0 %  OASIS 33.0 ± 1.0 %"
    assert lines[1].startswith("classes50  mAP")
    assert lines[-1] == "(mean ± standard deviation over 5 folds)"
    assert "synthetic images" in headline(metrics, synthetic)
    alone = headline(metrics, replace(context, methods=("euclidean",), selected_steps={}))
    assert alone.splitlines()[0] == "var10      mAP  Euclidean 23.0 ± 1.0 %"
    failed = replace(context, not_converged={("var10", "oasis"): "more than 600 s"})
    assert headline(metrics, failed).splitlines()[0] == "var10      mAP  Euclidean 23.0 ± 1.0 %  OASIS *"
    assert headline(metrics, failed).endswith("; *: did not end within its time limit)\n")
    assert headline(None, missing) == "Caltech-256: not run: put 256_ObjectCategories.tar at data/caltech256\n"


def test_mistakes_say_what_to_do(metrics, curves, context, reference, tmp_path):
    def write(name, **changes):
        given = {"metrics": metrics, "curves": curves, "context": context} | changes
        numbers = Numbers(given["metrics"], given["curves"])
        write_exhibit(JMLR, name, numbers=numbers, context=given["context"], reference=reference, folder=tmp_path)

    with pytest.raises(LookalikeError, match="choose one of oasis-jmlr-2010/table4"):
        write("table9")
    with pytest.raises(LookalikeError, match="needs metrics and there are none"):
        write("table4", metrics=None)
    with pytest.raises(LookalikeError, match="needs curves and there are none"):
        write("fig5", curves=curves.iloc[:0])
    assert not list(tmp_path.iterdir())


def test_numbers_of_figures_are_in_their_csv(everything):
    frame = pd.read_csv(everything / JMLR / "fig6.csv")
    assert {"subset", "series", "k", "precision", "error", "error_is", "n_folds"} == set(frame.columns)
    assert np.isfinite(frame["precision"]).all()


def test_a_caption_tells_the_settings_of_the_methods_that_it_shows(numbers, context, reference, tmp_path):
    noted = replace(context, notes={"oasis": "at most 30 steps here", "rca": "not shown"})
    for name in ("table4", "table5", "fig6"):
        write_exhibit(JMLR, name, numbers=numbers, context=noted, reference=reference, folder=tmp_path)
        caption = json.loads((tmp_path / f"{name}.json").read_text())["caption"]
        assert "OASIS: at most 30 steps here." in caption
        assert "not shown" not in caption
