"""A number is followed back through the records of jobs, and what made it is told in words."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from made_report import JMLR, add_record

from lookalike.core.job_record import write_record
from lookalike.report.provenance import COLUMNS, Work, commits, project_path, read_jobs, versions_of
from lookalike.report.site import configuration_parts

TABLE4 = f"results/demo/exhibits/{JMLR}/table4"


@pytest.fixture
def logs(tmp_path):
    """A chain: images in a folder, described in shards, learned from twice, gathered and drawn."""
    logs = tmp_path / "logs"
    add_record(logs, "draw_images", [], ["results/demo/images"], cpu_seconds=10.0, seconds=5.0)
    add_record(logs, "scan", ["results/demo/images/"], ["results/demo/manifest.parquet"])
    for shard in "01":
        add_record(logs, f"describe/{shard}", ["results/demo/images/a.png"], [f"results/demo/features/{shard}.npz"])
    learned = ["results/demo/features", "results/demo/manifest.parquet"]
    add_record(logs, "learn/oasis", learned, ["results/demo/runs/oasis/model.lookalike"], threads=2)
    add_record(logs, "learn/lmnn", learned, ["results/demo/runs/lmnn/model.lookalike"])
    both = ["./results/demo/runs/oasis/model.lookalike", "results/demo/runs/lmnn/model.lookalike"]
    add_record(logs, "gather", both, ["results/demo/metrics.parquet"])
    drawn = ["results/demo/metrics.parquet", "/home/me/clone/workflow/resources/reference-values.csv", "data/images"]
    add_record(logs, "draw_table/table4", drawn, [f"{TABLE4}.csv", f"{TABLE4}_compare.csv", f"{TABLE4}.json"])
    add_record(logs, "unrelated", [], ["results/other/metrics.parquet"], cpu_seconds=1000.0)
    return logs


def followed(logs, file):
    found = read_jobs(logs).origin(file)
    assert found is not None
    return found


def rules(logs, file):
    """Rules of a file's job and of all before it, one a job."""
    return sorted(job.rule for job in followed(logs, file)[1])


def test_a_job_and_all_before_it(logs):
    job, before = followed(logs, f"{TABLE4}.csv")
    assert (job.rule, job.cpu_seconds, job.seconds, job.commit) == ("draw_table", 1.0, 2.0, "aaaa")
    assert job.started == datetime(2026, 1, 1, tzinfo=UTC)
    assert "workflow/resources/reference-values.csv" in job.inputs
    every = ["describe", "describe", "draw_images", "draw_table", "gather", "learn", "learn", "scan"]
    assert rules(logs, f"{TABLE4}.csv") == every
    assert (before.total("cpu_seconds"), before.total("seconds")) == (17.0, 19.0)


def test_folders_are_followed_both_ways_and_names_to_their_end(logs):
    # a file in a folder that a job made, and a folder in which jobs made files
    assert rules(logs, "results/demo/features/0.npz") == ["describe", "draw_images"]
    assert rules(logs, "results/demo/features") == ["describe", "describe", "draw_images"]
    for file in ("results/demo/images2/a.png", "results/demo/image", "results/demo/metrics"):
        assert read_jobs(logs).origin(file) is None


def test_commits_versions_and_processors_of_all_jobs(logs):
    older = {"commit": "bbbb", "modified": True, "started": "2025-01-01T00:00:00+00:00", "processor": "an older one"}
    versions = {"numpy": "2.10.0", "faiss": "1.9"}
    features = ["results/demo/features/0.npz"]
    add_record(logs, "describe/0", ["results/demo/images/a.png"], features, versions=versions, **older)
    job, work = followed(logs, f"{TABLE4}.csv")
    assert (job.commit, job.modified) == ("aaaa", False)
    assert work.distinct("commit") == ["bbbb", "aaaa"], "in the order in which jobs ran"
    assert work.modified
    assert work.distinct("processor") == ["an older one", "a processor"]
    assert work[0].started == datetime(2025, 1, 1, tzinfo=UTC)
    assert [work.versions[name] for name in ("numpy", "faiss", "python")] == [["2.10.0", "2.9.0"], ["1.9"], ["3.12.1"]]
    assert [fact for fact in versions_of(work) if fact.term == "numpy"] == [("numpy", "2.10.0, 2.9.0", False)]


def test_of_two_records_of_a_file_the_later_made_it_and_jobs_in_a_circle_end(tmp_path):
    add_record(tmp_path, "b_old", [], ["results/x"], started="2026-01-01T00:00:00+00:00", cpu_seconds=7.0)
    add_record(tmp_path, "a_new", [], ["results/x"], started="2026-01-01T03:00:00+02:00")
    assert followed(tmp_path, "results/x")[0].rule == "a_new"
    jobs = read_jobs(tmp_path)
    assert (len(jobs.records), jobs.records.total("cpu_seconds")) == (1, 1.0), "nothing lies there of the older one"
    add_record(tmp_path, "one", ["results/b", "results/a"], ["results/a"])
    add_record(tmp_path, "two", ["results/a"], ["results/b"])
    assert rules(tmp_path, "results/a") == ["one", "two"]


def test_jobs_by_rule_and_the_whole(logs):
    add_record(logs, "warm", [], [], cpu_seconds=0.5)  # a job that makes no file counts
    jobs = read_jobs(logs)
    table = jobs.by_rule()
    assert tuple(table) == COLUMNS
    assert list(table["rule"])[:3] == ["unrelated", "draw_images", "describe"]
    assert table.set_index("rule").loc["describe"].to_list() == [2, 2.0, 4.0, 2.0, 100.0]
    assert (len(jobs.records), jobs.records.distinct("commit"), jobs.records.modified) == (10, ["aaaa"], False)


def test_jobs_behind_files_are_not_those_of_others_nor_those_that_read_them(logs):
    add_record(logs, "report_html", [f"{TABLE4}.json"], ["results/report/index.html"])
    behind = read_jobs(logs).behind([f"{TABLE4}.json", f"{TABLE4}.csv"])
    assert sorted(job.rule for job in behind.records) == rules(logs, f"{TABLE4}.csv")
    assert len(read_jobs(logs).behind([]).records) == 0


def test_no_records_are_no_jobs_and_those_of_another_version_are_passed_over(logs, tmp_path):
    (logs / "draw_table" / "table4.job.json").write_text('{"rule": "a", "inputs": [], "outputs": []}')
    jobs = read_jobs(logs)
    assert (len(jobs.records), jobs.origin(f"{TABLE4}.csv")) == (8, None)
    jobs = read_jobs(tmp_path / "nowhere")
    assert (len(jobs.records), jobs.origin("results/a"), tuple(jobs.by_rule())) == (0, None, COLUMNS)


def test_what_the_workflow_writes_is_read(tmp_path):
    job = SimpleNamespace(rule="learn", input=["b"], output=["results/c"], threads=2, log=[])
    write_record(job, tmp_path / "job.log", started=0.0)
    record, _ = followed(tmp_path, "results/c")
    assert (record.rule, record.inputs, record.outputs, record.threads) == ("learn", ("b",), ("results/c",), 2)
    assert record.started == datetime(1970, 1, 1, tzinfo=UTC)
    assert record.python
    assert record.versions["lookalike"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/home/me/workflow/clone/workflow/resources/claims.csv", "workflow/resources/claims.csv"),
        ("/clone/src/lookalike/studies/human/page.html", "src/lookalike/studies/human/page.html"),
        ("/home/me/photographs/results/a.png", "a.png"),
        ("results/demo/metrics.parquet", "results/demo/metrics.parquet"),
    ],
)
def test_no_path_shows_a_folder_of_one_machine(path, words):
    assert project_path(path) == words


def test_commits_are_told_in_words(logs):
    jobs = read_jobs(logs).records
    assert commits(Work()) == "outside a git work tree"
    other = replace(jobs[0], commit="bbbb", modified=True)
    assert commits(Work((*jobs, other))) == "aaaa, bbbb, with files changed since"


def test_settings_are_written_by_data_set_and_whole():
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
