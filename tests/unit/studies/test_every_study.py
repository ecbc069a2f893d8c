"""What holds for every study: its facts, its plan, and its exhibits on a made-up one and on one that was not run."""

import json

import made_category
import made_finegrained
import made_human
import made_landmark
import made_web
import pytest
from contract import ABSENT, ROOT, changed_study, check_exhibits, check_not_run, n_printed

from lookalike.core.files import read_table
from lookalike.exhibits.claims import claim_records, claims_of
from lookalike.exhibits.registry import ROOMS
from lookalike.exhibits.words import headline
from lookalike.report.kept import run_summary
from lookalike.report.provenance import read_jobs
from lookalike.report.results import Results
from lookalike.studies import rooms

RESOURCES = ROOT / "workflow" / "resources"

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
HEADLINES = {
    "category": ["mAP (%) OASIS 33.0 ± 0.2 MCML * LEGO 27.0 ± 0.2 LMNN - "],
    "human": [],
    "web": ["P@1 (%)", "OASIS 1.6 ± 0.1", "over 10,000 test images", "2,000 steps a second on 1 thread"],
    "finegrained": ["precision (%) score-30 HOG 68.4 [67.6, 69.2]", "DeepRanking 85.7 [", "7,004"],
    "landmark": [
        "mAP (%), 10,000 words mAP (%), 100,000 words mAP (%), 1,000,000 words TF-IDF ",
        "Means over 7 landmarks; ± standard deviation over 5 draws.",
    ],
}
"""Room to what the headline of its made-up study says."""


@pytest.mark.parametrize("room", ROOMS)
def test_jobs_for_exhibits_are_given_all_of_a_study_but_batches_and_need_planned_files_alone(room, settings):
    for dataset, study in getattr(settings, room).items():
        given, planned = study.params("exhibits"), study.planned_files()
        assert json.loads(json.dumps(given)) == given
        assert type(study).given(dataset, given).params("exhibits") == given
        wanted = {name for exhibit in study.own_exhibits() for name in (*exhibit.needs, *exhibit.optional)}
        # exhibits with a layout show times where a study has any
        assert wanted <= {*planned, "times"}
        assert set(study.contrasted) & set(planned) <= set(study.inputs())
        if "batch" in type(study).model_fields:
            assert changed_study(room, dataset, batch="method").params("exhibits") == given


@pytest.mark.parametrize("room", MADE)
def test_every_exhibit_is_drawn_and_says_which_data_it_shows_or_what_to_do(room, tmp_path):
    module, by_paper = MADE[room]
    printed = [f"{paper}/{name}" for paper, names in by_paper.items() for name in names.split()]
    study, absent = module.example(tmp_path)
    folder = tmp_path / "results" / study.dataset / "exhibits"
    sidecars = check_exhibits(room, study, folder, printed=printed)
    assert [id for id, sidecar in sidecars.items() if CAPTIONS[room] not in sidecar["caption"][1]] == []
    differences = {id: " ".join(sidecars[id]["differences"]) for id in printed}
    for page in (page for id in printed if (page := folder / f"{id}.md").is_file()):
        listed = [line[2:] for line in page.read_text().splitlines() if line.startswith("- ")]
        assert listed == sidecars[f"{page.parent.name}/{page.stem}"]["differences"]
    if room == "web":
        assert all("The query log and the images are simulated." in said for said in differences.values())
    if room == "landmark":
        counts = [n_printed(folder, id) for id in printed if "table" in id]
        assert counts == [40] * 3 + [28] * 6
        noted = {id for id, note in differences.items() if "QPAO (reconstructed): ours" in note}
        assert noted == {id for id in printed if "table" in id}
    # what is kept of a run is numbers alone: images that people rated are not ours to show
    (folder / "headline.txt").write_text(headline(study))
    said = " ".join(headline(study).split())
    assert [words for words in HEADLINES[room] if words not in said] == []
    assert "That does not decide" not in said, "networks have three seeds"
    claims = claim_records(study).to_dict("records")
    kept = run_summary(Results(tmp_path / "results")[study.dataset], folder.parent, read_jobs(tmp_path), "", claims)
    assert not [name for name in (".png", ".jpg", "001.mug") if name in json.dumps(kept)]
    check_not_run(room, absent, tmp_path / "not run")
    assert headline(absent) == f"{absent.title}: {ABSENT}\n"


def test_every_study_has_its_own_exhibits_printed_numbers_and_claims(settings):
    everything = rooms.all_exhibits()
    assert set(everything) == {id for room in ROOMS for id in rooms.exhibits_of(room)}
    assert {exhibit.study for exhibit in everything.values()} == set(ROOMS)
    printed = read_table(RESOURCES / "reference-values.csv")
    # what the text of the NIPS paper prints stands in its table
    assert set(printed["paper"] + "/" + printed["exhibit"]) - set(everything) == {"oasis-nips-2009/text"}
    claims = [claim for room in ROOMS for claim in claims_of(rooms.claim_rows(RESOURCES / "claims.csv", room))]
    assert len({claim.id for claim in claims}) == len((RESOURCES / "claims.csv").read_text().splitlines()) - 1
    assert all(claim.text.endswith(".") and claim.contrasts for claim in claims)
    metrics = [part.metric for claim in claims for part in claim.contrasts]
    assert not [metric for metric in metrics if "|" in metric or metric != metric.strip()]
    rows = rooms.printed_rows(RESOURCES / "reference-values.csv", "human")
    assert {(row["paper"], row["exhibit"]) for row in rows} >= {("oasis-jmlr-2010", "text")}
    assert not any(row["exhibit"] == "table4" for row in rows)
    study = settings.human["demo"].finished({"ranks": "ranks.npz"}, rows)
    assert (study.dataset, study.has("ranks"), len(study.printed)) == ("demo", True, len(rows))
    # a paper is drawn from the studies that print it
    drawn = settings.exhibits_of("demo", "oasis-nips-2009")
    names = {room: [exhibit.name for exhibit in exhibits] for room, exhibits in drawn.items()}
    assert names == {"category": [], "human": ["table1", "fig1a"]}
    (file, *_) = rooms.exhibit_paths("demo", drawn["human"])
    assert file == "results/demo/exhibits/oasis-nips-2009/table1.csv"
