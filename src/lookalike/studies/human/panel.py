"""A simulated panel of raters, for where there are no real ones: agreement of classes, blurred by each rater's ways."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.studies.human.collect import COLUMNS

# How similar a candidate seems, in the units of a rater's threshold: 1 for the query's class, 0 for others, with what
# all raters see alike in a pair (PAIR), what differs by rater (NOISE), and how easy a query is for all (QUERY).
PAIR, QUERY = 0.25, 0.15
THRESHOLD, STRICTNESS = 0.6, 0.2
NOISE_RANGE = (0.15, 0.5)
UNSURE_RANGE = (0.0, 0.06)
SKIPPED = 0.4
"""Share of the candidates called not good that a rater leaves at the default instead of answering."""
RATERS_OF_JMLR, RATERS_OF_NIPS = 20, 30
"""Raters of JMLR 5.2.3 and its draft, and of the NIPS version (4.1)."""


def simulated_panel(
    plan: pd.DataFrame, agreement: npt.NDArray[np.bool_], n_raters: int = RATERS_OF_NIPS, *, seed: int
) -> pd.DataFrame:
    """Simulate raters of a plan, ``simulated 01``, ``simulated 02``, ...; more raters change none of the first."""
    rng = generator(seed, "ratings", "panel")
    number_of_query, queries = pd.factorize(plan["query"])
    seen = agreement + rng.normal(0, PAIR, len(plan)) + rng.normal(0, QUERY, len(queries))[number_of_query]
    tables = []
    for number in range(1, n_raters + 1):
        noise, unsure = rng.uniform(*NOISE_RANGE), rng.uniform(*UNSURE_RANGE)
        threshold = rng.normal(THRESHOLD, STRICTNESS)
        distance = seen + rng.normal(0, noise, len(plan)) - threshold
        answer = np.where(distance > 0, "good", "not_good").astype(object)
        answer[np.abs(distance) < unsure] = "cant_say"
        answered = (answer != "not_good") | (rng.random(len(plan)) >= SKIPPED)
        tables.append(plan.assign(rater=f"simulated {number:02d}", answer=answer, answered=answered, simulated=True))
    panel = pd.concat(tables).sort_values(["rater", "query", "position"], kind="stable", ignore_index=True)
    return panel[list(COLUMNS)].astype({"answer": str, "answered": bool})


def same_class(plan: pd.DataFrame, manifest: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether each row's candidate has the class of its query image: bool, shape (rows of the plan,)."""
    label = manifest.set_index("image_id")["label"]
    return np.asarray(label.loc[plan["query_image"]].to_numpy() == label.loc[plan["image"]].to_numpy())
