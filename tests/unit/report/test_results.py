"""What lies in a folder of results, which jobs made it at what cost, and what the ledger and README.md say of it."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from made_report import CLAIMS, DEEP, DIFFERENCES, DRAFT, JMLR, NOT_RUN, SOML, add_record, edit_sidecar
from PIL import Image
from project import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.neighbours import GAIN, RANDOM
from lookalike.report.costs import study_cost
from lookalike.report.kept import run_summary
from lookalike.report.ledger import COLUMNS, ledger, numbers_at_hand, numbers_of
from lookalike.report.provenance import project_path, read_jobs
from lookalike.report.readme import BEGIN, END, readme_numbers, replace_between_marks, write_readme_picture
from lookalike.report.results import Results
from lookalike.report.site import configuration_parts


def names(results, **chosen):
    return [f"{exhibit.dataset}:{exhibit.id}" for exhibit in results.exhibits(**chosen)]


def test_data_sets_come_by_study_exhibits_by_paper_and_other_folders_are_passed_over(folder, toys):
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


@pytest.mark.parametrize("changed", [{"kind": None}, {"state": "great"}, {"sheets": [{"title": "no rows"}]}], ids=str)
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


TABLE4 = f"results/demo/exhibits/{JMLR}/table4.json"


def test_the_job_of_a_file_and_all_jobs_of_a_data_set_with_their_commits_versions_and_times_by_rule(tmp_path):
    # images are drawn, described in two shards by older code, and shown; another data set is there too
    logs = tmp_path / "logs"
    older = {"commit": "bbbb", "modified": True, "started": "2025-01-01T00:00:00+00:00", "processor": "an older one"}
    older["versions"] = {"numpy": "2.10.0", "faiss": "1.9"}
    add_record(logs, "paint_images", [], ["results/demo/images"], cpu_seconds=10.0, seconds=5.0)
    add_record(logs, "describe/0", [], ["results/demo/features/0.npz"], threads=2, **older)
    add_record(logs, "describe/1", [], ["results/demo/features/1.npz"])
    add_record(logs, "draw_table", [], [TABLE4.replace("json", "csv"), TABLE4])
    add_record(logs, "keep_run", [TABLE4], ["results/demo/run.json"])
    add_record(logs, "unrelated", [], ["results/demo2/metrics.parquet"], cpu_seconds=1000.0)
    add_record(logs, "report_html", [TABLE4], ["results/report/index.html"])
    job = read_jobs(logs).maker(TABLE4)
    assert job
    assert (job.rule, job.cpu_seconds, job.seconds, job.commit) == ("draw_table", 1.0, 2.0, "aaaa")
    assert job.started == datetime(2026, 1, 1, tzinfo=UTC)
    jobs = read_jobs(logs).jobs_of(["demo"])
    assert [job.rule for job in jobs] == ["describe", "describe", "draw_table", "paint_images"]
    assert (jobs.total("cpu_seconds"), jobs.total("seconds")) == (13.0, 11.0)
    assert jobs.distinct("processor") == ["an older one", "a processor"], "in the order in which jobs ran"
    assert [jobs.versions[name] for name in ("numpy", "python")] == [["2.10.0", "2.9.0"], ["3.12.1"]]
    assert jobs.modified
    table = read_jobs(logs).by_rule()
    assert list(table["rule"])[:3] == ["unrelated", "paint_images", "describe"]
    assert table.set_index("rule").loc["describe"].to_list() == [2, 2.0, 4.0, 2.0, 100.0]


def test_the_later_of_two_records_of_a_file_made_it_and_those_of_another_version_are_passed_over(tmp_path):
    (tmp_path / "table4.job.json").write_text('{"rule": "a", "inputs": [], "outputs": []}')
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert read_jobs(folder) == ()
    assert read_jobs(tmp_path).by_rule().empty
    add_record(tmp_path, "b_old", [], ["results/x"], started="2026-01-01T00:00:00+00:00", cpu_seconds=7.0)
    add_record(tmp_path, "a_new", [], ["results/x"], started="2026-01-01T03:00:00+02:00")
    add_record(tmp_path, "warm", [], [])  # a job that makes no file counts
    assert [job.rule for job in read_jobs(tmp_path)] == ["warm", "a_new"]


def test_settings_are_written_by_data_set_and_no_path_shows_a_folder_of_one_machine():
    shared = {"steps": 3}
    category = {"demo": {"a": shared, "b": shared, "rate": 1e-05}}
    demo = {"datasets": {"demo": {"kind": "synthetic"}}, "category": category}
    configuration = demo | {"seed": 1, "datasets": {"demo": {"kind": "synthetic"}, "other": {}}}
    dataset = SimpleNamespace(id="demo", title="Demo", studies=["category"])
    own, whole = configuration_parts(configuration | {"path": Path("data")}, [dataset])
    assert (own[0], yaml.safe_load(own[1])) == ("Demo", demo)
    assert "&" not in own[1], "settings that are shared are written out"
    assert yaml.safe_load(whole[1]) == configuration | {"path": "data"}
    assert configuration_parts({}, []) == []
    names = {
        "/home/me/workflow/clone/workflow/resources/claims.csv": "workflow/resources/claims.csv",
        "/clone/src/lookalike/studies/human/page.html": "src/lookalike/studies/human/page.html",
        "/home/me/photographs/results/a.png": "a.png",
        "results/demo/metrics.parquet": "results/demo/metrics.parquet",
    }
    assert {path: project_path(path) for path in names} == names


KEPT = ROOT / "workflow" / "resources" / "runs"


def test_studies_take_what_a_rehearsal_parts_or_their_own_run_took_and_cores_share_jobs():
    kept = json.loads((KEPT / "full-size" / "rehearsal.json").read_text())
    share = {name: job["cpu_seconds"] * job["times"] for name, job in kept["jobs"].items()}
    for cores in (2, 16):
        cost = study_cost(KEPT, "caltech256", cores)
        longest = max(share["rankers/words1000/classes249"], *(job["cpu_seconds"] for job in kept["jobs"].values()))
        assert cost.seconds == pytest.approx(max(sum(share.values()) / cores, longest))
        assert cost.is_least, "fits ended at a limit"
    left = study_cost(KEPT, "caltech256", 2, lambda job: "/lmnn/" in job and not job.endswith("/4"))
    of_lmnn = sum(job["cpu_seconds"] * job["times"] for name, job in kept["jobs"].items() if "/lmnn/" in name)
    done = study_cost(KEPT, "caltech256", 2).seconds - left.seconds
    assert done == pytest.approx(of_lmnn * 4 / 5 / 2), "four of five partitions, on two cores"
    assert study_cost(KEPT, "caltech256", 2, lambda job: True).seconds == 0
    two, many = (study_cost(KEPT, "websim", cores).seconds for cores in (2, 16))
    assert two > many > two / 8
    rules = json.loads((KEPT / "caltech20.json").read_text())["rules"]
    total, longest = sum(rule["cpu_seconds"] for rule in rules), max(rule["longest_seconds"] for rule in rules)
    # beside other runs a job may take longer by the clock than all take of a processor
    assert study_cost(KEPT, "caltech20", 1).seconds == pytest.approx(max(total, longest))
    assert study_cost(KEPT, "caltech20", 64).seconds == longest
    assert study_cost(KEPT, "nobody-ran-this", 2) is None


PRINTED = [
    *({"paper": JMLR, "exhibit": "table4", "value": value} for value in ("33", "39", "")),
    *({"paper": SOML, "exhibit": "table1", "value": value} for value in ("45", "49")),
]
RUNS = [{"exhibit": f"{JMLR}/table4", "run": "long;demo", "change": "another ten"}]


def test_numbers_with_printed_stand_in_rows_of_the_demo_and_of_the_first_long_run_that_has_them(toys):
    numbers = numbers_of(Results(toys)["demo"])
    # MCML has no printed number of the other metric, and one of ours is missing
    assert [(number["what"], number["ours"], number["printed"]) for number in numbers] == [
        ("mAP, OASIS", "41 ± 1.6", "33 ± 1.6"),
        ("mAP, MCML", "39 ± 1.6", "39 ± 1.7"),
        ("top 1, OASIS", "56", "43"),
        ("top 1, MCML", "50", "39"),
        ("top 1, LEGO", "-", "39"),
    ]
    assert {row["draws"] for row in numbers} == {"demo title, means over 5 folds; error bars are standard errors."}
    results = Results(toys)
    first, *_ = numbers_of(results["demo"])
    long = {"dataset": "long", "synthetic": False, "numbers": [first | {"ours": "30 ± 1", "run": "long run"}]}
    numbers = numbers_at_hand(results, [long, {"dataset": "made", "synthetic": True, "numbers": []}])
    assert "made" not in numbers
    assert "websim_demo" not in numbers
    rows = ledger(numbers, [*CLAIMS, {**CLAIMS[1], "dataset": "long", "title": "long run", "verdict": "undecided"}],
                  PRINTED, RUNS, ["demo"])  # fmt: skip
    assert tuple(rows.columns) == COLUMNS
    found = rows.set_index("what")
    row = found.loc["mAP, OASIS"]
    assert (row["printed"], row["demo"], row["longest"], row["run"]) == ("33 ± 1.6", "41 ± 1.6", "30 ± 1", "long run")
    assert (row["place"], row["change"]) == ("Table 4", "another ten")
    assert (found.loc["mAP, MCML", "demo"], found.loc["mAP, MCML", "longest"]) == ("39 ± 1.6", "")
    # of a table that no run has, one row says how many numbers it prints
    assert found.loc["2 printed numbers, none of them run on photographs", "place"] == "Table 1"
    claim = found.loc["OASIS is best."]
    assert (claim["demo"], claim["longest"], claim["change"]) == ("holds", "undecided", "another ten")
    assert list(rows["paper"]) == sorted(rows["paper"], key=[JMLR, SOML].index)


README = ROOT / "README.md"


def test_the_picture_shows_only_queries_that_were_drawn_at_random(toys, tmp_path, monkeypatch):
    monkeypatch.chdir(toys.parent)
    gallery, path = Results(toys).exhibit("demo", "learning", "neighbours"), tmp_path / "picture.webp"
    sizes = []
    for chosen in ((RANDOM, GAIN), (RANDOM, RANDOM)):
        entries = tuple(replace(entry, chosen=how) for entry, how in zip(gallery.entries, chosen, strict=False))
        write_readme_picture(replace(gallery, entries=entries), path)
        sizes.append(Image.open(path).size)
    assert sizes[0][0] == sizes[1][0] > 400
    assert sizes[0][1] < sizes[1][1]  # one row, then two
    with pytest.raises(LookalikeError, match="make demo"):
        write_readme_picture(replace(gallery, entries=gallery.entries[3:]), path)


def test_numbers_are_those_behind_the_first_primary_claims_of_each_paper(toys, tmp_path):
    lines = readme_numbers(Results(toys), "a test").splitlines()
    assert lines[0] == "| The paper says | Run here on | Here | Paper | Verdict |"
    assert lines[2:4] == [
        "| OASIS is best. (JMLR 2010) | demo title (ten) | OASIS − MCML: +5.5 [+4.5, +6.5] | +6 | holds |",
        "",
    ], "a further claim, and one that was not run, have no line"
    assert lines[-5].startswith("The papers' 2 primary claims: 1 hold, 0 do not hold, 0 undecided, 1 not run.")
    assert lines[-3] == "Results on data made by code decide no claim: websim_demo title and demo_triplets title."
    assert lines[-1] == "Made by a test."
    (tmp_path / "results").mkdir()
    with pytest.raises(LookalikeError, match="no data set has a result yet"):
        readme_numbers(Results(tmp_path / "results"), "a test")


def test_only_what_stands_between_the_marks_is_replaced():
    before = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_between_marks(before, "new \\1\n") == f"before\n{BEGIN}\nnew \\1\n{END}\nafter\n"
    for text in ("nothing", f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n" * 2):
        with pytest.raises(LookalikeError, match="no place"):
            replace_between_marks(text, "new")
    text = README.read_text(encoding="utf-8")
    assert replace_between_marks(text, "x") != text
    assert (README.parent / "docs" / "pictures" / "demo.webp").is_file()
