"""What holds for every study: its facts, its plan, and its exhibits on a made-up one and on one that was not run."""

import json
import math
from dataclasses import replace
from itertools import product
from pkgutil import resolve_name
from types import SimpleNamespace
from unittest import mock

import made_category
import made_finegrained
import made_human
import made_landmark
import made_web
import pandas as pd
import pytest
from contract import ABSENT, FAILS, HOLDS, OPEN, ROOT, asked_of, changed_study, ids_of
from plotted import too_small
from project import own_settings

from lookalike.core.files import read_json, read_table
from lookalike.exhibits.claims import Scope, claim_records, claims_of, decide
from lookalike.exhibits.contrasts import Contrast, Contrasts
from lookalike.exhibits.registry import ROOMS, exhibits_of
from lookalike.exhibits.statuses import State
from lookalike.exhibits.writing import headline, write_exhibits
from lookalike.report.kept import run_summary
from lookalike.report.pictures import POINT
from lookalike.report.provenance import read_jobs
from lookalike.report.results import Results
from lookalike.studies import rooms
from lookalike.studies.settings import checked

RESOURCES, SETTINGS = ROOT / "workflow" / "resources", checked(own_settings())

JMLR, DRAFT, NIPS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
SOML, DEEP = "soml-aaai-2014", "deep-ranking-cvpr-2014"
SAMPLED = {"sampling_study": {"out_of_class": [0.0, 0.2]}, "network": {"seeds": 2}}
NETWORKS = "table2 fig5 fig7 curves"
AT_HAND = ("is_graded", "has_torch", "has_training")
"""What a data set and an environment have, which is no setting."""
NO_SIDES = {"rankers": None, "variants": [], "projected": [], "set_aside": [], "exhibits": {}}
MADE = {
    "category": (
        *(made_category, {JMLR: "table4 table5 fig5 fig6 text", DRAFT: "table1 table2 fig3 fig4 text"}),
        "Toys, 1,000 visterms",
        [
            "Mean avg. prec. ours 33 ± 0.2 * 27 ± 0.2 20 ± 0.2 23 ± 0.2 paper 33 ± 1.6 29 ± 1.7 27 ± 0.8 24 ± 1.6 23 ±",
            # LEGO has no second run and stands for itself
            "Mean avg. prec., equal settings ours 34 ± 0.2 * 27 ± 0.2 30 ± 0.2 - 23 ± 0.2 Top 1 prec., equal settings",
        ],
    ),
    "human": (made_human, {JMLR: "fig3b", DRAFT: "fig7", NIPS: "fig1a"}, "Toy", []),
    "web": (
        *(made_web, {JMLR: "table1 fig4", DRAFT: "table3", NIPS: "fig1b"}),
        "Data: simulated web (query log and images made by code): 2,292,259 training",
        [
            "Training ours 139,944 2,292,259 70 96 paper 139,944 2,292,259 70 ",
            "Test ours 41,877 402,164 70 96 paper 41,877 402,164 70 ",
        ],
    ),
    "finegrained": (
        *(made_finegrained, {DEEP: "table1 table2 text"}),
        "Data: our triplets (rated by people), 14,000 triplets of 3,500 query images",
        [
            "Precision (%) Score-30 Score-30 per triplet (%) Wavelet ours 62.2 [61.9, 62.5] 2,735 [2,651, 2,819]",
            "DeepRanking ours 85.7 [85.4, 86.0] 7,004 [6,920, 7,088] 50.0 [49.4, 50.6] paper 85.7 7,004",
        ],
    ),
    "landmark": (
        *(made_landmark, {SOML: "table1 table2 table3 table4 table5 table6 table7 table8 table9 text"}, "Oxford5K"),
        [
            "10,000 words TF-IDF QPAO (reconstructed) OASIS S-TG S-DA All Souls ours 30.40 ± 0.32 44.40 ± 0.32 38.40 ±",
            "Hertford ours 30.40 ± 0.32 44.80 ± 0.32 38.80 ± 0.32 42.80 ± 0.32 43.80 ± 0.32 paper 31.16 51.47 42.18",
            "mAP ours 30.40 ± 0.32 44.70 ± 0.32 38.70 ± 0.32 42.70 ± 0.32 43.70 ± 0.32 paper 33.86 49.18 45.85",
            "Oxford5K, 7 landmarks; ± standard deviation over 5 samples.",
        ],
    ),
}
"""Room to its made-up study, to the exhibits of each paper that have printed numbers beside ours, and to what all
captions and the headline of the study say."""


@pytest.mark.parametrize("room", ROOMS)
def test_jobs_for_exhibits_are_given_all_of_a_study_but_batches_and_need_planned_files_alone(room):
    for dataset, study in getattr(SETTINGS, room).items():
        given, planned = study.params("exhibits"), study.planned_files()
        assert json.loads(json.dumps(given)) == given
        assert type(study).given(dataset, given).params("exhibits") == given
        wanted = {name for exhibit in study.own_exhibits() for name in (*exhibit.needs, *exhibit.optional)}
        # exhibits with a layout show times where a study has any
        assert wanted <= {*planned, "times"}
        assert set(study.contrasted) & set(planned) <= set(study.inputs())
        if "batch" in type(study).model_fields:
            assert changed_study(room, dataset, batch="method").params("exhibits") == given


@pytest.mark.parametrize(
    ("room", "dataset", "changes", "lacking"),
    [
        ("category", "caltech256", {}, "tens"),
        # visterm counts have no pictures
        ("category", "caltech20", {}, "tens neighbours jmlr-2010/fig2"),
        ("category", "caltech20", NO_SIDES, "tens neighbours jmlr-2010/fig2 draft/fig5 fig7 fig8 fig9"),
        ("category", "demo", {}, "tens draft/fig5 fig7 fig8 fig9 budget few_images mcml transfer"),
        ("human", "demo", {}, ""),
        ("web", "websim", {}, ""),
        ("web", "websim", {"runtime": None}, "jmlr-2010/fig4 fig1b"),
        ("finegrained", "demo_triplets", {}, "fig6"),
        ("finegrained", "demo_triplets", SAMPLED, ""),
        ("finegrained", "demo_triplets", SAMPLED | {"network": {"seeds": 1}}, "fig6"),
        ("finegrained", "demo_triplets", SAMPLED | {"is_graded": False}, "fig6"),
        ("finegrained", "demo_triplets", SAMPLED | {"has_torch": False}, f"fig6 {NETWORKS}"),
        ("finegrained", "demo_triplets", SAMPLED | {"has_training": False}, f"fig4 fig6 {NETWORKS}"),
        ("landmark", "oxford5k", {}, ""),
        # counts have no rectangles and no images, and no table of a paper is of painted images
        ("landmark", "landmarks11", {}, "lead montage table2 table3 table5 table6 table8 table9"),
        ("landmark", "demo_landmarks", {}, "lead text table1 table2 table3 table4 table5 table6 table7 table8 table9"),
    ],
)
def test_what_the_settings_do_not_run_has_no_exhibit(room, dataset, changes, lacking, monkeypatch):
    monkeypatch.setattr("lookalike.studies.finegrained.study.find_spec", lambda name: object())
    every, at_hand = set(rooms.exhibits_of(room)), {name: changes[name] for name in AT_HAND if name in changes}
    study = changed_study(room, dataset, **{name: changes[name] for name in changes if name not in AT_HAND})
    vars(study).update(at_hand)
    absent = {id for id in every if id.replace("-2009-", "-").endswith(tuple(lacking.split()))}
    assert every - ids_of(study) == absent


SMALL = {}
"""Picture to what is too small or empty in it."""


def laid_out(canvas, stem, titles):
    """Lay a picture out without rendering it: what every renderer shares is tested with the exhibits."""
    assert all(POINT.fullmatch(title) for title in titles), "pages know no other form"
    canvas.draw_without_rendering()
    SMALL[stem] = too_small(canvas)
    for suffix in (".png", ".svg", ".pdf"):
        stem.with_name(f"{stem.name}{suffix}").write_bytes(b"laid out")


def written(room, study, folder):
    """Sidecars by id of the exhibits that a study has by its settings, every file of which has been checked."""
    exhibits, sidecars = {id: found for id, found in exhibits_of(room).items() if found.is_of(study)}, {}
    with mock.patch("lookalike.exhibits.drawing.save_figure", laid_out):
        found = write_exhibits(exhibits.values(), study, folder)
    (folder / "headline.txt").write_text(headline(study, found))
    states = {exhibit.id: exhibit.state for exhibit in found}
    assert [id for id, state in states.items() if state == State.FAILED] == []
    for id, exhibit in exhibits.items():
        files = [folder / f"{id}{suffix}" for suffix in exhibit.suffixes]
        assert [file.name for file in files if not file.stat().st_size] == []
        sidecars[id] = read_json(files[-1])
        assert sidecars[id]["caption"][0] == exhibit.caption
    return sidecars


LINES = ("method", "series", "origin")
"""Columns of figures that name a line or a set of points."""


def n_printed(folder, id):
    """How many printed numbers stand beside ours in the file of an exhibit: in a column of a table, or as points."""
    table = pd.read_csv(folder / f"{id}.csv")
    of_figure = [table[name].astype(str).str.contains("printed") for name in LINES if name in table]
    return int(table.get("printed", pd.Series()).notna().sum() + sum(map(sum, of_figure)))


@pytest.mark.parametrize("room", MADE)
def test_every_exhibit_is_drawn_and_says_which_data_it_shows_or_what_to_do(room, tmp_path):
    module, by_paper, caption, first_words = MADE[room]
    printed = [f"{paper}/{name}" for paper, names in by_paper.items() for name in names.split()]
    study, absent = module.example(tmp_path)
    folder = tmp_path / "results" / study.dataset / "exhibits"
    sidecars, given = written(room, study, folder), {str(path) for name in study._files for path in study.paths(name)}
    for id, sidecar in sidecars.items():
        assert sidecar["problem"] == ""
        assert bool(sidecar["sheets"]) == (sidecar["kind"] == "table")
        assert len(pd.read_csv(folder / f"{id}.csv")) > 0, id
        assert SMALL.get(folder / id, "") == "", id
        assert caption in sidecar["caption"][1], id
        assert set(sidecar["sources"]) <= given
    assert {id for id in sidecars if n_printed(folder, id)} == set(printed)
    differences = {id: " ".join(sidecars[id]["differences"]) for id in printed}
    for page in (page for id in printed if (page := folder / f"{id}.md").is_file()):
        listed = [line[2:] for line in page.read_text().splitlines() if line.startswith("- ")]
        assert listed == sidecars[f"{page.parent.name}/{page.stem}"]["differences"]
    if room == "web":
        assert all("The query log and the images are simulated." in said for said in differences.values())
    if room == "landmark":
        counts = [n_printed(folder, id) for id in printed if "table" in id]
        assert counts == [40] * 3 + [28] * 6
        noted = {id for id, note in differences.items() if "QPAO (reconstructed): our quadratic programme" in note}
        assert noted == {id for id in printed if "table" in id}
    # what is kept of a run is numbers alone: images that people rated are not ours to show
    said = " ".join((folder / "headline.txt").read_text().split())
    assert [words for words in first_words if words not in said] == []
    assert "That does not decide" not in said, "networks have three seeds"
    measured = {row.metric for row in study.contrasts.rows if math.isfinite(row.mean)} if study.contrasted else set()
    assert {part.metric for claim in asked_of(room).values() for part in claim.contrasts} <= measured
    claims = claim_records(study)
    assert (list(claims["id"]), "" in set(claims["evidence"])) == (list(asked_of(room)), False)
    records = claims.to_dict("records")
    kept = run_summary(Results(tmp_path / "results")[study.dataset], folder.parent, read_jobs(tmp_path), "", records)
    assert not [name for name in (".png", ".jpg", "001.mug") if name in json.dumps(kept)]
    for id, sidecar in written(room, absent, tmp_path / "not run").items():
        if exhibits_of(room)[id].needs:
            assert (sidecar["state"], sidecar["problem"]) == (State.NOT_RUN, absent.not_run)
    assert (tmp_path / "not run" / "headline.txt").read_text() == f"{absent.title}: {ABSENT}\n"


def test_every_study_has_its_own_exhibits_printed_numbers_and_claims():
    everything = rooms.all_exhibits()
    assert {exhibit.study for exhibit in everything.values()} == set(ROOMS)
    drawn = {exhibit.id: resolve_name(exhibit.function) for exhibit in everything.values() if exhibit.function}
    assert len(drawn) > 20
    assert {draw.__annotations__["return"] for draw in drawn.values()} == {"Drawn"}
    assert len(everything) == sum(len(rooms.exhibits_of(room)) for room in ROOMS), "no two rooms have one id"
    printed = read_table(RESOURCES / "reference-values.csv")
    # what the text of the NIPS paper prints stands in its table
    assert set(printed["paper"] + "/" + printed["exhibit"]) - set(everything) == {"oasis-nips-2009/text"}
    claims = [claim for room in ROOMS for claim in claims_of(rooms.claim_rows(RESOURCES / "claims.csv", room))]
    assert len({claim.id for claim in claims}) == len((RESOURCES / "claims.csv").read_text().splitlines()) - 1
    assert all(claim.text.endswith(".") and claim.contrasts for claim in claims)
    metrics = [part.metric for claim in claims for part in claim.contrasts]
    assert not [metric for metric in metrics if "|" in metric or metric != metric.strip()]
    # a paper is drawn from the studies that print it
    drawn = SETTINGS.exhibits_of("demo", "oasis-nips-2009")
    names = {room: [exhibit.name for exhibit in exhibits] for room, exhibits in drawn.items()}
    assert names == {"category": [], "human": ["table1", "fig1a"]}
    (file, *_) = rooms.exhibit_paths("demo", drawn["human"])
    assert file == "results/demo/exhibits/oasis-nips-2009/table1.csv"


CLAIMS = {id: claim for room in ROOMS for id, claim in asked_of(room).items()}
BOUNDS = {
    "never-worse early-stop constraints few-hundreds soml-at-least-comparable": (-0.9, -1.1),
    "lmnn-near-euclidean proj sampling-alike": (0.9, 1.1, -1.1),
    "variants": (2.9, 3.1, -1.1),
    "da-above-tg": (2.9, 3.1, -0.1),
    "golden-at-the-top": (-2.9, -3.1, 0.1),
    "soml-near-qpao embedding-reasonable": (-4.9, -5.1),
    "declines": (9.9, 10.1),
    "runs-agree": (0.9, 1.1),
    "score-falls": (-1, 1),
    "small-share-helps": (1.1, 0.9),
    "almost-symmetric": (0.91, 0.89),
    "near-raters": (10.1, 9.9),
    "above-a-rater": (25.1, 24.9),
}
"""Claims, without their paper, to a difference by which they hold and others by which they fail, if not 1 and -1."""
BOUND_OF = {id: bounds for ids, bounds in BOUNDS.items() for id in ids.split()}


@pytest.mark.parametrize("id", CLAIMS)
def test_each_claim_holds_and_fails_by_the_differences_that_its_text_says(id):
    claim = replace(CLAIMS[id], limits=(), protocol="")
    settings = claim.settings or ("all",)
    name = id.partition("-")[2] if id.startswith(("jmlr", "draft", "nips")) else id
    pairs = [pair for part in claim.contrasts for pair in product([part.metric], part.first, part.second or [""])]
    about = {"role": lambda name: [name], "was_run": lambda *names: True, "scope_of": lambda claim: Scope(settings)}

    def outcome(low, high, p=0.001):
        interval = ((low + high) / 2, low, high, p, 9, "folds")
        rows = Contrasts(Contrast(setting, *pair, *interval) for setting in settings for pair in pairs)
        return decide(claim, SimpleNamespace(not_run="", contrasts=rows, title_of=str, **about)).outcome

    holds, *fails = BOUND_OF.get(name, (1, -1))
    assert outcome(holds - 0.005, holds + 0.005) == HOLDS
    assert {outcome(mean - 0.005, mean + 0.005) for mean in fails} == {FAILS}
    assert outcome(min(holds, *fails), max(holds, *fails), p=0.6) == OPEN
