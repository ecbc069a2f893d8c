from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_plans import IDS, LABELS, draw

from lookalike.studies.human.collect import COLUMNS
from lookalike.studies.human.panel import same_class, simulated_panel

MANIFEST = pd.DataFrame({"image_id": IDS, "label": LABELS})
pytestmark = pytest.mark.filterwarnings("ignore:only 6 test images")


def test_the_panel_agrees_with_classes_but_not_always() -> None:
    plan = draw(n_queries=6)
    same = same_class(plan, MANIFEST)
    assert same.any()
    assert not same[plan["role"] == "random"].any()
    panel = simulated_panel(plan, same, seed=0)
    assert tuple(panel.columns) == COLUMNS
    assert panel["simulated"].all()
    assert panel["rater"].nunique() == 20
    assert len(panel) == 20 * len(plan)
    matches = dict(zip(zip(plan["query"], plan["position"], strict=True), same, strict=True))
    of_class = np.array([matches[place] for place in zip(panel["query"], panel["position"], strict=True)])
    good = (panel["answer"] == "good").to_numpy()
    assert 0.6 < good[of_class].mean() < 1
    assert 0 < good[~of_class].mean() < 0.25
    # raters differ in strictness, and what was not answered is the default
    assert panel.assign(good=good).groupby("rater")["good"].mean().std() > 0.02
    assert 0 < (panel["answer"] == "cant_say").mean() < 0.1
    assert set(panel.loc[~panel["answered"], "answer"]) == {"not_good"}


def test_the_same_seed_gives_the_same_panel() -> None:
    plan = draw()
    same = same_class(plan, MANIFEST)
    pd.testing.assert_frame_equal(simulated_panel(plan, same, 3, seed=1), simulated_panel(plan, same, 3, seed=1))
    assert not simulated_panel(plan, same, 3, seed=1).equals(simulated_panel(plan, same, 3, seed=2))
