"""The job that made a number is found among the records of jobs, and what made it is told in words."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from made_report import JMLR, add_record

from lookalike.report.provenance import project_path, read_jobs
from lookalike.report.site import configuration_parts

TABLE4 = f"results/demo/exhibits/{JMLR}/table4.json"


@pytest.fixture
def logs(tmp_path):
    """Images are drawn, described in two shards by older code, and shown; another data set is there too."""
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
    return logs


def test_the_job_of_a_file_and_all_jobs_of_a_data_set(logs):
    job = read_jobs(logs).maker(TABLE4)
    assert job
    assert (job.rule, job.cpu_seconds, job.seconds, job.commit) == ("draw_table", 1.0, 2.0, "aaaa")
    assert job.started == datetime(2026, 1, 1, tzinfo=UTC)
    assert read_jobs(logs).maker("results/demo/exhibits") is None
    jobs = read_jobs(logs).jobs_of(["demo"])
    assert [job.rule for job in jobs] == ["describe", "describe", "draw_table", "paint_images"]
    assert (jobs.total("cpu_seconds"), jobs.total("seconds")) == (13.0, 11.0)
    assert [job.rule for job in read_jobs(logs).jobs_of(["demo2"])] == ["unrelated"]


def test_commits_versions_and_processors_of_all_jobs(logs):
    jobs = read_jobs(logs).jobs_of(["demo"])
    assert jobs.distinct("commit") == ["bbbb", "aaaa"], "in the order in which jobs ran"
    assert jobs.distinct("processor") == ["an older one", "a processor"]
    assert [jobs.versions[name] for name in ("numpy", "faiss", "python")] == [["2.10.0", "2.9.0"], ["1.9"], ["3.12.1"]]
    assert jobs.modified


def test_jobs_by_rule(logs):
    table = read_jobs(logs).by_rule()
    assert list(table["rule"])[:3] == ["unrelated", "paint_images", "describe"]
    assert table.set_index("rule").loc["describe"].to_list() == [2, 2.0, 4.0, 2.0, 100.0]


def test_of_two_records_of_a_file_the_later_made_it(tmp_path):
    add_record(tmp_path, "b_old", [], ["results/x"], started="2026-01-01T00:00:00+00:00", cpu_seconds=7.0)
    add_record(tmp_path, "a_new", [], ["results/x"], started="2026-01-01T03:00:00+02:00")
    add_record(tmp_path, "warm", [], [])  # a job that makes no file counts
    assert [job.rule for job in read_jobs(tmp_path)] == ["warm", "a_new"]


def test_no_records_are_no_jobs_and_those_of_another_version_are_passed_over(tmp_path):
    (tmp_path / "table4.job.json").write_text('{"rule": "a", "inputs": [], "outputs": []}')
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert read_jobs(folder) == ()
    assert read_jobs(tmp_path).by_rule().empty


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
