"""The files of an exhibit: whole also where it was not run or failed, and a sidecar that says everything."""

import pandas as pd
import pytest
import toy

from lookalike.core.files import read_json
from lookalike.exhibits.statuses import Status
from lookalike.exhibits.writing import write_exhibits


@pytest.fixture
def written(tmp_path):
    """The toy study's exhibits, and their sidecars."""
    folder = tmp_path / "exhibits"
    study = toy.study(tmp_path, not_run="not run: put images at data/toy")
    return folder, write_exhibits(toy.exhibits(), study, folder)


def sidecar(folder, id):
    return read_json(folder / f"{id}.json")


def test_one_that_fails_or_lacks_what_it_needs_is_named_and_the_others_are_written(written):
    folder, sidecars = written
    assert [sidecar.id for sidecar in sidecars if sidecar.state == Status.FAILED] == ["learning/broken"]
    missing = sidecar(folder, "learning/missing")
    assert (missing["state"], missing["problem"]) == ("not run", "not run: put images at data/toy")
    assert sidecar(folder, "learning/broken")["state"] == "failed"
    assert "KeyError" in sidecar(folder, "learning/broken")["problem"]
    assert "KeyError" in (folder / "learning" / "broken.md").read_text()
    assert sidecar(folder, "oasis-jmlr-2010/table4")["state"] == "higher"


@pytest.mark.parametrize("exhibit", toy.exhibits(), ids=lambda exhibit: exhibit.id)
def test_every_promised_file_is_there_whatever_happened(written, exhibit):
    folder, _ = written
    assert [suffix for suffix in exhibit.suffixes if not (folder / f"{exhibit.id}{suffix}").is_file()] == []


def test_the_sidecar_says_what_a_page_needs(written):
    folder, _ = written
    found = sidecar(folder, "oasis-jmlr-2010/table4")
    assert found["caption"] == ["Cells of a toy table.", "Toy data (images made by code)."]
    assert found["notes"] == ["A note."]
    assert (found["label"], found["study"], found["kind"]) == ("Table 4", "toy", "table")
    assert found["statuses"] == {"higher": 1}
    assert found["sheets"][0]["rows"][0] == ["mAP_%", "ours", "1 | x", "2"]
    assert found["sources"] == [str(folder.parent / "metrics.csv")]


def test_the_csv_holds_the_whole_figure(written):
    fig6 = written[0] / "oasis-jmlr-2010" / "fig6"
    figure = toy.figure(None)
    pd.testing.assert_frame_equal(pd.read_csv(fig6.with_suffix(".csv")), figure.frame, check_dtype=False)
