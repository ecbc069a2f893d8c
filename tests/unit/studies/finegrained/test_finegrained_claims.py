"""Contrasts are those of the bootstrap, and verdicts on claims follow from numbers whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from contract import contrasted, verdict_on
from made_finegrained import (
    CLAIM_ROWS,
    FITS,
    KINDS,
    LEVELS,
    N_MADE,
    NONE,
    PRINTED,
    REAL,
    UNIFORM,
    of_numbers,
    toy_curves,
    toy_pairs,
    toy_study,
    toy_triplets,
)

from lookalike.exhibits.claims import claim_records, claims_of
from lookalike.exhibits.contrasts import SYNTHETIC
from lookalike.exhibits.statuses import Outcome
from lookalike.ranking import triplet_metrics
from lookalike.ranking.triplet_metrics import intervals
from lookalike.studies.finegrained.contrasts import contrasts
from lookalike.studies.finegrained.results import results_of
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, TABLE1

HOLDS, FAILS, OPEN, NOT_RUN, _ = Outcome
CLAIMS = {claim.id: claim for claim in claims_of(CLAIM_ROWS)}


def study_with(folder, changes=None, *, reach=0.3, without=(), kinds=KINDS, **settings):
    """A study with the levels of print but for some."""
    levels = {system: level for system, level in (LEVELS | (changes or {})).items() if system not in without}
    return of_numbers(folder, levels, bootstrap={"reach": reach, "kinds": kinds}, **settings)


def verdict(folder, claim, changes=None, **more):
    """Outcome of one claim, and what it is told by."""
    return verdict_on(CLAIMS[claim], study_with(folder, changes, **more))


LAST = "multiscale-weighted-100"
CASES = {
    "embedding-beats-features": [({}, HOLDS), ({"hog": (77.0, 3.0)}, FAILS), ({"hog": (76.1, 3.0)}, OPEN)],
    "embedding-reasonable": [
        ({}, HOLDS),
        ({"golden-features": (81.3, 7.2)}, OPEN),
        ({"golden-features": (85.0, 7.2)}, FAILS),
    ],
    "oasis-beats-embedding": [({}, HOLDS), ({"oasis": (76.3, 6.9)}, OPEN), ({"oasis": (75.0, 6.9)}, FAILS)],
    "deep-beats-features": [({}, HOLDS), ({"oasis": (79.2, 7.2)}, FAILS)],
    # the golden feature makes no relevance here, so nothing decides these
    "deep-beats-golden": [({}, OPEN), ({"golden-features": (90.0, 7.2)}, OPEN)],
    "golden-at-the-top": [({}, OPEN), ({"golden-features": (80.3, 7.6)}, OPEN)],
    "ranking-beats-classes": [({}, HOLDS), ({"convnet": (86.0, 5.7)}, FAILS)],
    "features-alone-are-weak": [({}, HOLDS), ({"hog": (79.3, 3.0)}, OPEN), ({"hog": (80.0, 3.0)}, FAILS)],
    "single-scale-precise": [({}, HOLDS), ({"oasis": (86.0, 6.8)}, FAILS)],
    "single-scale-not-at-the-top": [({}, HOLDS), ({"oasis": (79.2, 6.0)}, FAILS)],
    "filters-have-colour": [({}, NOT_RUN)],
    "multiscale-helps": [({}, HOLDS), ({"deep-ranking": (84.7, 7.0)}, OPEN)],
    "tops-help": [({}, FAILS), ({"single-scale-ranking": (82.0, 6.2)}, HOLDS)],
    "tops-below-deep": [({}, HOLDS), ({"single-scale-and-visual-feature": (87.0, 6.7)}, FAILS)],
    "score-falls": [({}, HOLDS), ({LAST: (85.5, 7.8)}, FAILS)],
    "small-share-helps": [({}, HOLDS), ({NONE: (84.6, 7.3)}, OPEN), ({NONE: (85.5, 7.3)}, FAILS)],
    "sampling-alike": [({}, HOLDS), ({UNIFORM: (85.0, 6.7)}, OPEN), ({UNIFORM: (81.0, 6.7)}, FAILS)],
    "weighted-at-the-top": [({}, HOLDS), ({UNIFORM: (84.2, 7.5)}, FAILS)],
    "classes-know-semantics": [({}, HOLDS), ({"oasis": (86.0, 6.8)}, FAILS)],
    "oasis-knows-appearance": [({}, FAILS), ({"oasis": (86.0, 6.8)}, HOLDS)],
    "deep-knows-both": [({}, HOLDS), ({"convnet": (88.0, 5.7)}, FAILS)],
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_each_claim_follows_its_intervals(claim, tmp_path):
    for changes, expected in CASES[claim]:
        assert verdict(tmp_path, claim, changes)[0] == expected, changes


@pytest.mark.parametrize(("settings", "data"), [({}, SYNTHETIC), (REAL, "real")])
def test_every_number_says_whether_its_images_are_made_by_code(tmp_path, settings, data):
    rows = of_numbers(tmp_path, **settings).contrasts.rows
    assert {row.data for row in rows} == {data}


def test_evidence_has_both_metrics_of_a_pair_with_intervals(tmp_path):
    _, words = verdict(tmp_path, "oasis-beats-embedding")
    first = "OASIS is 3.0 points higher than L1HashKPCA in precision (95% interval 2.7 to 3.3; the paper: 3), p 0.001; "
    assert words.startswith(first)
    assert "OASIS is 457 triplets higher than L1HashKPCA in score@30 (95% interval 415 to 499" in words
    assert "1.1% of triplets lower than" in verdict(tmp_path, "golden-at-the-top")[1]


def test_filters_have_colour_where_they_gained_it_over_a_random_start(tmp_path):
    random = np.random.default_rng(0)
    files = [str(tmp_path / f"filters{seed}.npz") for seed in range(3)]
    study = of_numbers(tmp_path)

    def drawn(colourful):
        """Filters of independent channels, of alike ones, or of opposite ones, which have colour alone."""
        filters = random.normal(size=(20, 4, 4, 3))
        alike = filters.mean(axis=3, keepdims=True)
        return {"random": filters, "grey": alike + 0.1 * filters, "colour": filters - alike}[colourful]

    def found(convnet, classifier, shallow, start, n=3):
        for file in files:
            after = drawn(shallow)
            before = after if start == "itself" else drawn(start)
            paths = {"convnet": drawn(convnet), "start/convnet": drawn(classifier)}
            np.savez(file, **paths, **{"every-4th-pixel": after, "start/every-4th-pixel": before})
        own = study.finished({**study._files, "filters": files[:n]}, PRINTED)
        return verdict_on(CLAIMS["filters-have-colour"], contrasted("finegrained", own))[0]

    assert found("colour", "random", "colour", "random") == HOLDS
    assert found("grey", "random", "grey", "random") == FAILS
    # two thirds of a random filter's energy are colour: that is no gain, whatever a classifier's filters have
    assert found("random", "grey", "random", "itself") == OPEN
    assert found("random", "grey", "random", "random") == OPEN
    assert found("colour", "random", "colour", "random", n=1) == OPEN, "of one seed"


def test_one_seed_or_a_training_cut_short_decides_nothing_about_networks(tmp_path):
    about_networks = [claim for claim in CLAIMS.values() if claim.limits and claim.id != "filters-have-colour"]
    assert len(about_networks) == 16

    def found(seeds=3, **finished):
        given = {"bootstrap": {"reach": 0.3, "seeds": seeds}, "results": {"finished": finished}}
        study = of_numbers(tmp_path, **given, golden={"ratings": 0.4})
        return {claim.id: verdict_on(claim, study) for claim in about_networks}

    whole, cut = found(), found(**{"deep-ranking": True, "deep-ranking-seed2": False})
    assert whole["multiscale-helps"][0] == whole["ranking-beats-classes"][0] == HOLDS
    assert cut["multiscale-helps"][0] == OPEN
    assert cut["ranking-beats-classes"][0] == HOLDS, "is not about DeepRanking"
    assert {outcome for outcome, _ in found(seeds=2).values()} == {OPEN}


def test_the_golden_feature_that_makes_the_relevance_decides_its_claims(tmp_path):
    result = {"golden": {"ratings": 0.4}}
    assert verdict(tmp_path, "deep-beats-golden", **result)[0] == HOLDS
    assert verdict(tmp_path, "golden-at-the-top", {"golden-features": (80.3, 7.6)}, **result)[0] == FAILS


def test_what_was_not_run_is_said_of_each_claim(tmp_path):
    some = {system: LEVELS[system] for system in TABLE1[:7]}
    study = of_numbers(tmp_path, some, **REAL, surroundings={"has_torch": False, "has_training": False})
    frame = claim_records(study).set_index("id")
    assert frame.loc["embedding-beats-features", "verdict"] == HOLDS
    assert frame.loc["oasis-beats-embedding", "evidence"] == "OASIS not run."
    others = frame.drop("embedding-beats-features")
    assert set(others["verdict"]) == {NOT_RUN}


@pytest.mark.parametrize(
    ("claim", "options", "verdict_", "evidence"),
    [
        ("multiscale-helps", {"without": ["single-scale-ranking"]}, NOT_RUN, "no similarity_precision here"),
        ("score-falls", {"without": [NONE, "multiscale-weighted-050", LAST]}, NOT_RUN, ""),
        # a feature that is missing does not mend a claim that another breaks
        (
            "embedding-beats-features",
            {"changes": {"hog": (80.0, 7.0)}, "without": ["fisher"]},
            FAILS,
            "no similarity_precision here",
        ),
        ("oasis-knows-appearance", {"kinds": ("rated",)}, NOT_RUN, "no similarity_precision, in-class negatives here"),
        ("oasis-beats-embedding", {"contrasted": False}, NOT_RUN, "no similarity_precision here"),
    ],
)
def test_what_is_missing_leaves_a_claim_open(claim, options, verdict_, evidence, tmp_path):
    found, words = verdict(tmp_path, claim, **options)
    assert found == verdict_
    assert evidence in words


def test_the_table_has_a_verdict_for_every_claim_and_none_where_it_was_not_run(tmp_path):
    study = study_with(tmp_path, **REAL)
    counts = claim_records(study)["verdict"].value_counts()
    assert (counts[HOLDS], counts[FAILS], counts[OPEN]) == (16, 2, 2)
    assert claim_records(study.finished({}, PRINTED, CLAIM_ROWS, "not run: put triplets there")).empty


TRAININGS = {"hog": ["hog"], "deep-ranking": ["deep-ranking", "deep-ranking-seed2"]}


@pytest.fixture
def measured():
    """Outcomes of a feature and of two trainings of a network, and the tables beside them; two images are one."""
    random, triplets = np.random.default_rng(0), toy_triplets()
    names = [name for own in TRAININGS.values() for name in own]
    frame = pd.DataFrame([(name, triplet) for name in names for triplet in triplets["triplet"]])
    frame.columns = ["system", "triplet"]
    outcomes = frame.assign(outcome=random.choice([0, 0.5, 1], len(frame)), in_top=random.random(len(frame)) < 0.7)
    checksums = ["same" if image in (0, 10) else str(image) for image in range(N_MADE)]
    manifest = pd.DataFrame({"image_id": range(N_MADE), "sha256": checksums})
    return {"outcomes": outcomes, "triplets": triplets, "pairs": toy_pairs(), "manifest": manifest}


def test_the_mean_of_results_over_seeds_is_the_level_that_is_contrasted(measured):
    rows = results_of(*measured.values(), FITS, {"deep-ranking-seed2": toy_curves()["deep-ranking"]})
    bootstrap = triplet_metrics.Bootstrap(0, 5, manifest=measured["manifest"], trainings=TRAININGS)
    levels = intervals(*list(measured.values())[:3], bootstrap)
    means = rows.groupby(["setting", "method", "metric"])["value"].mean()
    for level in levels.to_dict("records"):
        setting, metric = f"triplets={level['subset']}", level["metric"].replace("@5", "@30")
        assert means[setting, level["system"], metric] == pytest.approx(level["value"])
        assert means[setting, "", "queries"] == level["n_queries"] < 4
        counts = {"triplets": "n_triplets", "pool": "median_pool"}
        assert all(means[setting, "", metric] == level[count] for metric, count in counts.items())
    curve = rows[rows["x"].notna()]
    assert set(curve["repeat"]) == {"2"}
    assert set(curve["setting"]) == {"images=training", "images=validation"}
    ends = rows[rows["method"].eq("deep-ranking") & rows["setting"].eq("")].set_index("metric")["value"]
    assert ends.to_dict() == {"finished": 1, "kept": 9_600}


def test_contrasts_are_those_of_the_paired_bootstrap(measured, tmp_path, monkeypatch):
    monkeypatch.setattr(FinegrainedStudy, "systems", lambda study: list(TRAININGS))
    tables = measured | {"results": results_of(*measured.values(), FITS, {})}
    study = toy_study(tmp_path, tables, score={"k": 5, "resamples": 200}, network={"seeds": 2}, seed=3)
    rows = {row.key: row for row in contrasts(study)}
    bootstrap, pairs = triplet_metrics.Bootstrap(3, 5, 200, measured["manifest"], TRAININGS), [("deep-ranking", "hog")]
    own = [measured["outcomes"], measured["triplets"]]
    expected = triplet_metrics.contrasts(*own, pairs, bootstrap).set_index(["subset", "metric"])
    for kind, name in (("all", ""), ("in-class", ", in-class negatives")):
        row, found = rows[ALL, f"score@30{name}", *pairs[0]], expected.loc[(kind, "score@5")]
        assert (row.mean, row.low, row.high, row.p) == tuple(found[["difference", "low", "high", "p_value"]])
        assert (row.n, row.interval, row.unit) == (found["n_queries"], "seeds and query images", "triplets")
    level = rows[ALL, "similarity_precision", "hog", ""]
    assert level.low <= level.mean <= level.high
    assert (level.interval, level.printed, level.limits) == ("query images", 68.4, "")
    assert rows[ALL, "similarity_precision", *pairs[0]].printed == pytest.approx(85.7 - 68.4)
    assert rows[ALL, "similarity_precision", *pairs[0]].limits == "deep-ranking:seeds"
