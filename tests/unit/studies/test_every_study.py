"""What holds for the exhibits of every study, on a small one that was made up and on one that was not run."""

import json

import made_category
import made_finegrained
import made_human
import made_landmark
import made_web
import pytest
from contract import ABSENT, check_exhibits, check_not_run, n_printed

from lookalike.exhibits.claims import claim_records
from lookalike.exhibits.words import headline
from lookalike.report.kept import run_summary
from lookalike.report.provenance import read_jobs
from lookalike.report.results import Results

JMLR, DRAFT, NIPS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
SOML, DEEP = "soml-aaai-2014", "deep-ranking-cvpr-2014"
MADE = {
    "category": (made_category, {JMLR: "table4 table5 fig5 fig6 text", DRAFT: "table1 table2 fig3 fig4 text"}),
    "human": (made_human, {JMLR: "fig3b", DRAFT: "fig7", NIPS: "fig1a"}),
    "web": (made_web, {JMLR: "table1 fig3a fig4", DRAFT: "table3 fig6", NIPS: "fig1b"}),
    "finegrained": (made_finegrained, {DEEP: "table1 table2 text"}),
    "landmark": (made_landmark, {SOML: "table1 table2 table3 table4 table5 table6 table7 table8 table9 text"}),
}
"""Room to its made-up study, and to the exhibits of each paper that have printed numbers beside ours."""
CAPTIONS = {
    "category": "Toys, 1,000 visterms",
    "human": "Toy",
    "web": "Data: made web images (query log and images made by code): 2,292,259 training",
    "finegrained": "Data: our triplets (rated by people), 14,000 triplets of 3,500 query images",
    "landmark": "Oxford5K",
}
"""Room to what all captions of its made-up study say."""


@pytest.mark.parametrize("room", MADE)
def test_every_exhibit_is_drawn_and_says_which_data_it_shows_or_what_to_do(room, tmp_path):
    module, by_paper = MADE[room]
    printed = [f"{paper}/{name}" for paper, names in by_paper.items() for name in names.split()]
    study, absent = module.example(tmp_path)
    folder = tmp_path / "results" / study.dataset / "exhibits"
    sidecars = check_exhibits(room, study, folder, printed=printed)
    assert [id for id, sidecar in sidecars.items() if CAPTIONS[room] not in sidecar["caption"][1]] == []
    notes = {id: " ".join(sidecar["notes"]) for id, sidecar in sidecars.items()}
    if room == "web":
        assert all("Not comparable with the printed numbers: simulated." in note for note in notes.values())
    if room == "landmark":
        counts = [n_printed(folder, id) for id in printed if "table" in id]
        assert counts == [40] * 3 + [28] * 6
        noted = {id for id, note in notes.items() if "QPAO (reconstructed): ours" in note}
        assert noted == {id for id in printed if "table" in id}
    # what is kept of a run is numbers alone: images that people rated are not ours to show
    (folder / "headline.txt").write_text(headline(study))
    claims = claim_records(study).to_dict("records")
    kept = run_summary(Results(tmp_path / "results")[study.dataset], folder.parent, read_jobs(tmp_path), "", claims)
    assert not [name for name in (".png", ".jpg", "001.mug") if name in json.dumps(kept)]
    check_not_run(room, absent, tmp_path / "not run")
    assert headline(absent) == f"{absent.title}: {ABSENT}\n"
