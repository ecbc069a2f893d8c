"""Contrasts are those of the bootstrap, and verdicts on claims follow from numbers whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from contract import FAILS, HOLDS, NOT_RUN, OPEN, asked_of, contrasted, finished, verdict_on
from made_finegrained import (
    FITS,
    LEVELS,
    N_MADE,
    NONE,
    REAL,
    SHARES,
    UNIFORM,
    given,
    study,
    toy_curves,
    toy_pairs,
    toy_triplets,
)

from lookalike.exhibits.claims import claim_records
from lookalike.exhibits.contrasts import SYNTHETIC
from lookalike.ranking import triplet_metrics
from lookalike.ranking.triplet_metrics import intervals
from lookalike.studies.finegrained.contrasts import contrasts
from lookalike.studies.finegrained.results import results_of
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL, TABLE1

CLAIMS = asked_of("finegrained")


def study_with(changes=(), *, reach=0.3, without=(), **settings):
    """A study with the levels of print but for some."""
    levels = {system: level for system, level in (LEVELS | dict(changes)).items() if system not in without}
    return study(levels, reach=reach, **settings)


def verdict(claim, changes=(), **more):
    """Outcome of one claim, and what it is told by."""
    return verdict_on(CLAIMS[claim], study_with(changes, **more))


LAST = "multiscale-weighted-100"
# what holds with the levels of print or does not, and what becomes of it with others
CASES = {
    "embedding-beats-features": {HOLDS: {}, FAILS: {"hog": (77.0, 3.0)}, OPEN: {"hog": (76.1, 3.0)}},
    "embedding-reasonable": {HOLDS: {}, OPEN: {"golden-features": (81.3, 7.2)}, FAILS: {"golden-features": (85, 7.2)}},
    "oasis-beats-embedding": {HOLDS: {}, OPEN: {"oasis": (76.3, 6.9)}, FAILS: {"oasis": (75.0, 6.9)}},
    "deep-beats-features": {HOLDS: {}, FAILS: {"oasis": (79.2, 7.2)}},
    # the golden feature makes no relevance here, so nothing decides these
    "deep-beats-golden": {OPEN: {}},
    "golden-at-the-top": {OPEN: {"golden-features": (80.3, 7.6)}},
    "ranking-beats-classes": {HOLDS: {}, FAILS: {"convnet": (86.0, 5.7)}},
    "features-alone-are-weak": {HOLDS: {}, OPEN: {"hog": (79.3, 3.0)}, FAILS: {"hog": (80.0, 3.0)}},
    "single-scale-precise": {HOLDS: {}, FAILS: {"oasis": (86.0, 6.8)}},
    "single-scale-not-at-the-top": {HOLDS: {}, FAILS: {"oasis": (79.2, 6.0)}},
    "filters-have-colour": {NOT_RUN: {}},
    "multiscale-helps": {HOLDS: {}, OPEN: {"deep-ranking": (84.7, 7.0)}},
    "tops-help": {FAILS: {}, HOLDS: {"single-scale-ranking": (82.0, 6.2)}},
    "tops-below-deep": {HOLDS: {}, FAILS: {"single-scale-and-visual-feature": (87.0, 6.7)}},
    "score-falls": {HOLDS: {}, FAILS: {LAST: (85.5, 7.8)}},
    "small-share-helps": {HOLDS: {}, OPEN: {NONE: (84.6, 7.3)}, FAILS: {NONE: (85.5, 7.3)}},
    "sampling-alike": {HOLDS: {}, OPEN: {UNIFORM: (85.0, 6.7)}, FAILS: {UNIFORM: (81.0, 6.7)}},
    "weighted-at-the-top": {HOLDS: {}, FAILS: {UNIFORM: (84.2, 7.5)}},
    "classes-know-semantics": {HOLDS: {}, FAILS: {"oasis": (86.0, 6.8)}},
    "oasis-knows-appearance": {FAILS: {}, HOLDS: {"oasis": (86.0, 6.8)}},
    "deep-knows-both": {HOLDS: {}, FAILS: {"convnet": (88.0, 5.7)}},
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_each_claim_follows_its_intervals(claim):
    for expected, changes in CASES[claim].items():
        assert verdict(claim, changes)[0] == expected, changes


def test_numbers_say_whether_images_are_made_by_code_and_evidence_has_both_metrics_with_intervals():
    for settings, data in (({}, SYNTHETIC), (REAL, "real")):
        assert {row.data for row in study(**settings).contrasts.rows} == {data}
    _, words = verdict("oasis-beats-embedding")
    first = "OASIS is 3.0 points higher than L1HashKPCA in precision (95% interval 2.7 to 3.3; the paper: 3), p 0.001; "
    assert words.startswith(first)
    assert "OASIS is 457 triplets higher than L1HashKPCA in score@30 (95% interval 415 to 499" in words
    assert "1.1% of triplets lower than" in verdict("golden-at-the-top")[1]


@pytest.mark.parametrize(
    ("convnet", "classifier", "shallow", "start", "n", "outcome"),
    [
        ("colour", "random", "colour", "random", 3, HOLDS),
        ("grey", "random", "grey", "random", 3, FAILS),
        # two thirds of a random filter's energy are colour: that is no gain, whatever a classifier's filters have
        ("random", "grey", "random", "itself", 3, OPEN),
        ("random", "grey", "random", "random", 3, OPEN),
        # of one seed
        ("colour", "random", "colour", "random", 1, OPEN),
    ],
)
def test_filters_have_colour_where_they_gained_it_over_a_random_start(
    tmp_path, convnet, classifier, shallow, start, n, outcome
):
    random, files = np.random.default_rng(1), []

    def drawn(kind):
        """Filters of independent channels, of alike ones, or of opposite ones, which have colour alone."""
        filters = random.normal(size=(20, 4, 4, 3))
        alike = filters.mean(axis=3, keepdims=True)
        return {"random": filters, "grey": alike + 0.1 * filters, "colour": filters - alike}[kind]

    for seed in range(n):
        after = drawn(shallow)
        before = after if start == "itself" else drawn(start)
        paths = {"convnet": drawn(convnet), "start/convnet": drawn(classifier)}
        files.append(str(tmp_path / f"filters{seed}.npz"))
        np.savez(files[-1], **paths, **{"every-4th-pixel": after, "start/every-4th-pixel": before})
    found = contrasted(finished(given(), {"results": study().table("results")}, {"filters": files}))
    assert verdict_on(CLAIMS["filters-have-colour"], found)[0] == outcome


def test_one_seed_or_a_training_cut_short_decides_nothing_about_networks():
    about_networks = [claim for claim in CLAIMS.values() if claim.limits and claim.id != "filters-have-colour"]
    assert len(about_networks) == 16

    def found(seeds=3, **ended):
        fits = {name: {"finished": has_ended} for name, has_ended in ended.items()}
        own = study_with(seeds=seeds, fits=fits, golden={"ratings": 0.4})
        return {claim.id: verdict_on(claim, own)[0] for claim in about_networks}

    whole, cut = found(), found(**{"deep-ranking": True, "deep-ranking-seed2": False})
    assert whole["multiscale-helps"] == whole["ranking-beats-classes"] == HOLDS
    # that ranking beats classes is not about DeepRanking
    assert (cut["multiscale-helps"], cut["ranking-beats-classes"]) == (OPEN, HOLDS)
    assert set(found(seeds=2).values()) == {OPEN}


GOLDEN = {"golden": {"ratings": 0.4}}
WITHOUT_FISHER = {"changes": {"hog": (80.0, 7.0)}, "without": ["fisher"]}


@pytest.mark.parametrize(
    ("claim", "options", "outcome", "evidence"),
    [
        # the golden feature that makes the relevance decides its claims
        ("deep-beats-golden", GOLDEN, HOLDS, ""),
        ("golden-at-the-top", GOLDEN | {"changes": {"golden-features": (80.3, 7.6)}}, FAILS, ""),
        ("multiscale-helps", {"without": ["single-scale-ranking"]}, NOT_RUN, "no similarity_precision here"),
        ("score-falls", {"without": SHARES}, NOT_RUN, ""),
        # a feature that is missing does not mend a claim that another breaks
        ("embedding-beats-features", WITHOUT_FISHER, FAILS, "no similarity_precision here"),
        ("oasis-knows-appearance", {"kinds": ("rated",)}, NOT_RUN, "no similarity_precision, in-class negatives here"),
    ],
)
def test_what_else_decides_a_claim_or_leaves_it_open(claim, options, outcome, evidence):
    found, words = verdict(claim, **options)
    assert found == outcome
    assert evidence in words


def test_the_table_has_a_verdict_for_every_claim_and_none_where_it_was_not_run():
    counts = claim_records(study_with(**REAL))["verdict"].value_counts()
    assert (counts[HOLDS], counts[FAILS], counts[OPEN]) == (16, 2, 2)
    assert claim_records(finished(given(**REAL), not_run="not run: put triplets there")).empty
    some = {system: LEVELS[system] for system in TABLE1[:7]}
    frame = claim_records(study(some, **REAL, surroundings={"has_torch": False, "has_training": False}))
    verdicts = frame.set_index("id")["verdict"]
    assert verdicts.pop("embedding-beats-features") == HOLDS
    assert set(verdicts) == {NOT_RUN}
    assert frame.set_index("id").loc["oasis-beats-embedding", "evidence"] == "OASIS not run."


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
    assert (set(curve["repeat"]), set(curve["setting"])) == ({"2"}, {"images=training", "images=validation"})
    ends = rows[rows["method"].eq("deep-ranking") & rows["setting"].eq("")].set_index("metric")["value"]
    assert ends.to_dict() == {"finished": 1, "kept": 9_600}


def test_contrasts_are_those_of_the_paired_bootstrap(measured, monkeypatch):
    monkeypatch.setattr(FinegrainedStudy, "systems", lambda study: list(TRAININGS))
    tables = measured | {"results": results_of(*measured.values(), FITS, {})}
    own = finished(given(score={"k": 5, "resamples": 200}, network={"seeds": 2}, seed=3), tables)
    rows, pairs = {row.key: row for row in contrasts(own)}, [("deep-ranking", "hog")]
    bootstrap = triplet_metrics.Bootstrap(3, 5, 200, measured["manifest"], TRAININGS)
    expected = triplet_metrics.contrasts(measured["outcomes"], measured["triplets"], pairs, bootstrap)
    expected = expected.set_index(["subset", "metric"])
    for kind, name in (("all", ""), ("in-class", ", in-class negatives")):
        row, found = rows[ALL, f"score@30{name}", *pairs[0]], expected.loc[(kind, "score@5")]
        assert (row.mean, row.low, row.high, row.p) == tuple(found[["difference", "low", "high", "p_value"]])
        assert (row.n, row.interval, row.unit) == (found["n_queries"], "seeds and query images", "triplets")
    level, gap = (rows[ALL, "similarity_precision", *pair] for pair in (("hog", ""), *pairs))
    assert level.low <= level.mean <= level.high
    assert (level.interval, level.printed, level.limits) == ("query images", 68.4, "")
    assert (gap.printed, gap.limits) == (pytest.approx(85.7 - 68.4), "deep-ranking:seeds")
