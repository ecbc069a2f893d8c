"""What lies in a folder of results, whole, half made or broken."""

import shutil

import pytest
from made_report import CLAIMS, DEEP, DIFFERENCES, DRAFT, JMLR, NOT_RUN, edit_sidecar

from lookalike.core.errors import LookalikeError
from lookalike.report.kept import run_summary
from lookalike.report.provenance import read_jobs
from lookalike.report.results import Results


def names(results, **chosen):
    return [f"{exhibit.dataset}:{exhibit.id}" for exhibit in results.exhibits(**chosen)]


def test_data_sets_come_by_study_real_ones_first_and_other_folders_are_passed_over(folder):
    (folder / "demo" / "exhibits" / JMLR / ".table9.123.part.json").write_text("{")  # of a killed job
    (folder / "kernels" / "learners").mkdir(parents=True)
    found = Results(folder).datasets
    assert [(dataset.id, dataset.studies, dataset.synthetic, dataset.not_run) for dataset in found] == [
        ("caltech256", ["category"], False, NOT_RUN),
        ("demo", ["category"], False, ""),
        ("websim_demo", ["web"], True, ""),
        ("demo_triplets", ["finegrained"], True, ""),
    ]
    assert found[1].title == "demo title"


def test_exhibits_come_by_paper_and_its_numbering_whichever_study_they_are_of(toys):
    results = Results(toys)
    every = names(results)
    assert every[:8] == [
        f"caltech256:{JMLR}/table4", f"demo:{JMLR}/table4", f"websim_demo:{JMLR}/fig4", f"caltech256:{JMLR}/fig6",
        f"demo:{JMLR}/fig6", f"caltech256:{DRAFT}/fig4", f"demo:{DRAFT}/fig4", f"demo_triplets:{DEEP}/fig5",
    ]  # fmt: skip
    own = ("neighbours", "broken")
    assert every[8:] == [f"{dataset}:learning/{name}" for name in own for dataset in ("caltech256", "demo")]
    assert results.groups == ["learning"]
    assert names(results, paper=DRAFT) == every[5:7]
    assert names(results, dataset="websim_demo") == every[2:3]
    assert names(results, paper="soml-aaai-2014") == names(results, dataset="kernels") == []


def test_files_of_an_exhibit_and_none_of_another_whose_name_it_begins(folder):
    exhibits = folder / "demo" / "exhibits" / JMLR
    for name in ("table40.csv", "table4_b.csv"):
        shutil.copy(exhibits / "table4.csv", exhibits / name)
    table, figure = (Results(folder).exhibit("demo", JMLR, name) for name in ("table4", "fig6"))
    assert [path.name for path in table.paths] == [f"table4.{kind}" for kind in ("csv", "json", "md", "tex")]
    cells = table.table()
    cells.loc[1, "printed"] = None
    cells.to_csv(exhibits / "table4.csv", index=False)
    compared = table.compare()
    assert compared is not None
    assert compared["method"].tolist() == ["oasis", "oasis", "mcml", "lego"], "what is printed"
    assert table.picture() is None
    assert figure.picture() == exhibits / "fig6.png"
    assert figure.compare() is None
    (exhibits / "table4.csv").write_text("\n")
    assert table.table().empty


# what is missing or broken


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda toys: Results(toys / "nowhere"), r"no folder of results at .*nowhere: run `make demo` first"),
        (lambda toys: Results(toys / "demo" / "images")["demo"], "there is none; run `make demo` first"),
        (lambda toys: Results(toys).exhibit("websim_demo", JMLR, "table9"),
         rf"websim_demo has no exhibit {JMLR}/table9: choose one of {JMLR}/fig4$"),
        (lambda toys: Results(toys).exhibit("kernels", JMLR, "table4"),
         r"'kernels': choose one of caltech256, demo, websim_demo, demo_triplets$"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_one_sentence_with_what_is(toys, ask, words):
    with pytest.raises(LookalikeError, match=words):
        ask(toys)


@pytest.mark.parametrize(
    "changed", [{"kind": None}, {"state": "splendid"}, {"sheets": [{"title": "no rows"}]}], ids=str
)
def test_a_sidecar_of_another_version_is_named_with_what_to_do(folder, changed):
    sidecar = folder / "demo" / "exhibits" / JMLR / "table4.json"
    edit_sidecar(sidecar, **changed)
    again = f"delete {folder}/demo/exhibits and run the same command again"
    with pytest.raises(LookalikeError, match=rf"^{sidecar} cannot be read \({next(iter(changed))}: .+\): {again}$"):
        Results(folder).exhibits()


def test_results_are_found_by_the_variable_then_here_then_beside(folder, tmp_path, monkeypatch):
    def refused(words):
        with pytest.raises(LookalikeError, match=f"no results at {words}: run `make demo`"):
            Results.find()

    monkeypatch.delenv("LOOKALIKE_RESULTS", raising=False)
    own = tmp_path / "notebooks" / "results"
    own.mkdir(parents=True)
    monkeypatch.chdir(own.parent)
    assert Results.find().folder.resolve() == folder, "an empty folder is no results"
    shutil.copytree(folder / "demo", own / "demo")
    assert Results.find().folder.resolve() == own
    monkeypatch.setenv("LOOKALIKE_RESULTS", str(folder))
    assert Results.find().folder == folder
    monkeypatch.setenv("LOOKALIKE_RESULTS", "elsewhere")
    refused("elsewhere, which LOOKALIKE_RESULTS names")
    monkeypatch.delenv("LOOKALIKE_RESULTS")
    monkeypatch.chdir("/")
    refused(r"results or \.\./results")


def test_a_run_is_summed_up_in_one_file(toys):
    jobs = read_jobs(toys.parent / "logs")
    kept = run_summary(Results(toys)["demo"], toys / "demo", jobs, "make demo", CLAIMS)
    assert (kept["dataset"], kept["synthetic"], kept["headline"]) == ("demo", False, "mAP 41 %")
    assert (kept["commits"], kept["processors"], kept["date"]) == (["aaaa"], ["a processor"], "2026-01-01")
    assert [kept["rules"][0][column] for column in ("rule", "cpu_seconds")] == ["learn_lego", 6.0]
    assert set(kept["stored_megabytes"]) == {"exhibits", "images"}
    place = "JMLR 2010, section 5, Table 4"
    rows = ({name: row[name] for name in ("names", "here", "paper")} for row in DIFFERENCES)
    assert kept["differences"] == [row | {"place": place, "names": f"ten: {row['names']}, mAP"} for row in rows]
