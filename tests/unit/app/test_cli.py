from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from lookalike import __version__
from lookalike.cli import main
from lookalike.studies.human.collect import FILE_COLUMNS
from lookalike.studies.human.questionnaire import plan_fingerprint, read_plan


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Four queries with three neighbours each, and their pictures."""
    rows = [(f"q{query}.png", f"i{query}{rank}.png", rank) for query in range(4) for rank in (1, 2, 3)]
    table = pd.DataFrame(rows, columns=["query_path", "path", "rank"])
    table.to_csv(tmp_path / "neighbours.csv", index=False)
    for path in {*table["query_path"], *table["path"]}:
        Image.fromarray(np.full((8, 8, 3), len(path), dtype=np.uint8)).save(tmp_path / path)
    return tmp_path


def rate(project: Path, *more: str) -> int:
    images, page = str(project), str(project / "page.html")
    return main(["rate", str(project / "plan.csv"), "--images", images, "--output", page, *more])


def from_neighbours(project: Path, *more: str) -> int:
    sizes = ("--queries", "4", "--retrieved", "3", "--random", "3")
    return rate(project, "--neighbours", str(project / "neighbours.csv"), *sizes, *more)


def test_help_and_version_need_nothing_heavy() -> None:
    code = (
        "import sys; from lookalike.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "print([name for name in ('numpy', 'pandas', 'PIL', 'numba', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "rate" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "lookalike", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"lookalike {__version__}\n"


def test_a_page_from_own_neighbours_and_its_ratings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_neighbours(project, "--title", "My photos") == 0
    assert "My photos" in (project / "page.html").read_text()
    plan = read_plan(project / "plan.csv")
    assert len(plan) == 4 * 6
    # the plan that is there is the one that pages are made of
    (project / "page.html").unlink()
    assert rate(project) == 0
    assert (project / "page.html").exists()

    name = plan_fingerprint(plan)
    lines = [
        f"{name},Ada,{row.query},{row.position}," + ("good,true,true" if row.rank == 1 else "not_good,false,true")
        for row in plan.itertuples()
    ]
    (project / "ada.csv").write_text("\n".join([",".join(FILE_COLUMNS), *lines]) + "\n")
    capsys.readouterr()
    table = project / "ratings.parquet"
    assert main(["ratings", str(project / "plan.csv"), str(project / "ada.csv"), "--output", str(table)]) == 0
    printed = dict(line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert printed["precision at 1"] == "1"
    assert printed["precision at 3"] == "0.333"
    assert (pd.read_parquet(table)["answer"] == "good").sum() == 4


def test_a_plan_is_never_replaced_by_another(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_neighbours(project) == 0
    before = (project / "plan.csv").read_bytes()
    assert from_neighbours(project) == 0
    assert from_neighbours(project, "--seed", "1") == 1
    assert "exists and holds another plan" in capsys.readouterr().err
    assert (project / "plan.csv").read_bytes() == before


def test_a_mistake_is_one_sentence_and_status_1(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rate(project) == 1
    error = capsys.readouterr().err
    assert error.startswith("lookalike: there is no plan")
    assert len(error.splitlines()) == 1
    (project / "i01.png").unlink()
    assert from_neighbours(project) == 1
    assert "the image i01.png of the plan cannot be shown" in capsys.readouterr().err
    assert not (project / "plan.csv").exists()
    (project / "neighbours.csv").unlink()
    assert from_neighbours(project) == 1
    assert "there is no file of neighbours" in capsys.readouterr().err


def test_fewer_queries_than_asked_is_said(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_neighbours(project, "--queries", "9") == 0
    assert capsys.readouterr().err == (
        "lookalike: only 4 test images can be query images of the rating, not 9: all are taken\n"
    )


@pytest.mark.parametrize("arguments", [[], ["rate"], ["rate", "p", "--images", "i"], ["nothing"], ["ratings", "p"]])
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: lookalike" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--queries", "0"], "must be at least 1"),
        (["--queries", "x"], "must be a whole number, not 'x'"),
        (["--seed", "-1"], "must not be negative"),
        (["--random", "2.5"], "must be a whole number, not '2.5'"),
    ],
)
def test_numbers_out_of_range_are_status_2(
    project: Path, option: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        from_neighbours(project, *option)
    assert stop.value.code == 2
    assert f"argument {option[0]}: {message}" in capsys.readouterr().err


def test_a_page_may_be_without_unrelated_images(project: Path) -> None:
    assert from_neighbours(project, "--random", "0") == 0
    assert set(read_plan(project / "plan.csv")["role"]) == {"retrieved"}


def test_nothing_that_is_read_is_written_over(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert from_neighbours(project) == 0
    plan, neighbours = project / "plan.csv", project / "neighbours.csv"
    before = plan.read_bytes(), neighbours.read_bytes()
    images = ["--images", str(project)]
    for arguments in (
        ["rate", str(plan), *images, "--output", str(plan)],
        [
            "rate",
            str(plan),
            *images,
            "--neighbours",
            str(neighbours),
            "--output",
            str(project / "." / "neighbours.csv"),
        ],
        ["rate", str(neighbours), *images, "--neighbours", str(neighbours), "--output", str(project / "page.html")],
        ["ratings", str(plan), str(neighbours), "--output", str(plan)],
        ["ratings", str(plan), str(neighbours), "--output", str(neighbours)],
    ):
        capsys.readouterr()
        assert main(arguments) == 1, arguments
        assert "name another file to write" in capsys.readouterr().err
    assert (plan.read_bytes(), neighbours.read_bytes()) == before


def test_where_nothing_can_be_written_or_read_one_sentence_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert from_neighbours(project) == 0
    plan = str(project / "plan.csv")
    torn = project / "torn.csv"
    torn.write_text("query_path,path,rank\na,b,1\na,b,1,2,3\n")
    for arguments, message in (
        (["rate", plan, "--images", str(project), "--output", f"{plan}/page.html"], "cannot be made: "),
        (["rate", plan, "--images", str(project), "--output", str(project)], "is a folder: name a file in it"),
        (["ratings", plan, str(project)], "is a folder: name the CSV files in it"),
        (["ratings", str(project), plan], "cannot be read as a plan: Is a directory; name a plan.csv"),
        (
            ["rate", str(project / "new.csv"), "--images", "x", "--output", "y", "--neighbours", str(torn)],
            "torn.csv cannot be read as CSV: Expected 3 fields in line 3, saw 5; mend it",
        ),
    ):
        capsys.readouterr()
        assert main(arguments) == 1
        error = capsys.readouterr().err
        assert message in error
        assert len(error.splitlines()) == 1
        assert "Errno" not in error


def test_a_reader_that_goes_away_hears_no_complaint(project: Path) -> None:
    assert from_neighbours(project) == 0
    code = (
        "import os, sys; from lookalike.cli import main\n"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "rate", "plan.csv", "--images", ".", "--output", "page.html"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_behind_the_output_is_one_sentence(project: Path) -> None:
    assert from_neighbours(project) == 0
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lookalike", "rate", "plan.csv", "--images", ".", "--output", "page.html"],
            cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.stderr == "lookalike: the output cannot be written: No space left on device; send it elsewhere\n"
    assert done.returncode == 1


def test_names_that_the_output_cannot_show_are_escaped(project: Path) -> None:
    assert from_neighbours(project) == 0
    code = (
        "import sys; from lookalike.app.options import print_json, tell\n"
        "tell(['caf\u00e9 \\udcff']); print_json({'a': 'caf\u00e9 \\udcff'})"
    )
    for encoding, shown in (("utf-8", b"caf\xc3\xa9 "), ("ascii", b"caf\\xe9 ")):
        command = [sys.executable, "-X", "utf8=0", "-c", code]
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
        first, _, rest = done.stdout.partition(b"\n")
        assert first == shown + b"\\udcff"
        assert json.loads(rest) == {"a": "caf\u00e9 \udcff"}


def test_neighbours_between_semicolons_are_one_sentence(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = project / "neighbours.csv"
    table.write_text(table.read_text().replace(",", ";"))
    assert from_neighbours(project) == 1
    assert "neighbours.csv separates its columns by semicolons" in capsys.readouterr().err
