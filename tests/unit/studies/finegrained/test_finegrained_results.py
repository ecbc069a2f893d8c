"""Rows of results are the levels that a bootstrap contrasts, and the contrasts of a study are that bootstrap's."""

import numpy as np
import pandas as pd
import pytest
from made_finegrained import FITS, N_MADE, toy_curves, toy_pairs, toy_study, toy_triplets

from lookalike.ranking import triplet_metrics
from lookalike.ranking.triplet_metrics import intervals
from lookalike.studies.finegrained.contrasts import contrasts
from lookalike.studies.finegrained.results import results_of
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.finegrained.systems import ALL

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
    levels = intervals(*list(measured.values())[:3], seed=0, k=5, manifest=measured["manifest"], trainings=TRAININGS)
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
    options = {"seed": 3, "k": 5, "n_resamples": 200, "manifest": measured["manifest"], "trainings": TRAININGS}
    pairs = [("deep-ranking", "hog")]
    own = [measured["outcomes"], measured["triplets"]]
    expected = triplet_metrics.contrasts(*own, pairs_of_systems=pairs, **options).set_index(["subset", "metric"])
    for kind, name in (("all", ""), ("in-class", ", in-class negatives")):
        row, found = rows[ALL, f"score@30{name}", *pairs[0]], expected.loc[(kind, "score@5")]
        assert (row.mean, row.low, row.high, row.p) == tuple(found[["difference", "low", "high", "p_value"]])
        assert (row.n, row.interval, row.unit) == (found["n_queries"], "seeds and query images", "triplets")
    level = rows[ALL, "similarity_precision", "hog", ""]
    assert level.low <= level.mean <= level.high
    assert (level.interval, level.printed, level.limits) == ("query images", 68.4, "")
    assert rows[ALL, "similarity_precision", *pairs[0]].printed == pytest.approx(85.7 - 68.4)
    assert rows[ALL, "similarity_precision", *pairs[0]].limits == "deep-ranking:seeds"
