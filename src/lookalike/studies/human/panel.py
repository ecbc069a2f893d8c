"""A simulated panel of raters, for where there are no real ones: agreement of classes, blurred by each rater's ways.

What it makes has the form of `lookalike.studies.human.collect.read_ratings`, with ``simulated`` True: whatever is drawn
from it must say so.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.core.seeds import generator
from lookalike.studies.human.collect import COLUMNS

BoolArray = npt.NDArray[np.bool_]

# How similar a candidate seems, in the units of a rater's threshold: 1 for the query's class, 0 for others, with what
# all raters see alike in a pair (PAIR), what differs by rater (NOISE), and how easy a query is for all (QUERY).
PAIR, QUERY = 0.25, 0.15
THRESHOLD, STRICTNESS = 0.6, 0.2
NOISE_RANGE = (0.15, 0.5)
UNSURE_RANGE = (0.0, 0.06)
SKIPPED = 0.4
"""Share of the candidates called not good that a rater leaves at the default instead of answering."""


def simulated_panel(
    plan: pd.DataFrame,
    agreement: BoolArray,
    n_raters: int = 20,
    *,
    seed: int,
) -> pd.DataFrame:
    """Simulate raters of a plan.

    Every pair of query and candidate has a similarity that all raters see: 1 for images of one class and 0 for others,
    plus a draw for the pair and one for the query. Each rater adds noise of an own size and calls good what exceeds an
    own threshold (strictness); what falls close to the threshold gets "can't say". Part of the rest is left at the
    default, which is not good.

    Parameters
    ----------
    plan : DataFrame
        From `draw_plan`.
    agreement : ndarray of bool, shape (rows of the plan,)
        Whether a row's candidate is of the query image's class; see `same_class`.
    n_raters : int
        The paper had 20.
    seed : int
        Root seed.

    Returns
    -------
    DataFrame
        As from `read_ratings`, with ``simulated`` True and raters ``simulated 01``, ``simulated 02``, ...

    Raises
    ------
    ValueError
        When `agreement` does not fit the plan or there is no rater.
    """
    same = np.asarray(agreement, dtype=np.bool_)
    if same.shape != (len(plan),) or n_raters < 1:
        raise ValueError("agreement must have a value per row of the plan, and there must be at least one rater")
    rng = generator(seed, "ratings", "panel")
    number_of_query, queries = pd.factorize(plan["query"])
    seen = same + rng.normal(0, PAIR, len(plan)) + rng.normal(0, QUERY, len(queries))[number_of_query]
    tables = []
    for number in range(1, n_raters + 1):
        noise, unsure = rng.uniform(*NOISE_RANGE), rng.uniform(*UNSURE_RANGE)
        threshold = rng.normal(THRESHOLD, STRICTNESS)
        distance = seen + rng.normal(0, noise, len(plan)) - threshold
        answer = np.where(distance > 0, "good", "not_good").astype(object)
        answer[np.abs(distance) < unsure] = "cant_say"
        table = plan[["query", "query_image", "position", "image", "role", "rank"]].copy()
        table.insert(0, "rater", f"simulated {number:02d}")
        table["answer"] = answer
        table["answered"] = (answer != "not_good") | (rng.random(len(plan)) >= SKIPPED)
        table["simulated"] = True
        tables.append(table)
    return (
        pd.concat(tables)
        .sort_values(["rater", "query", "position"], kind="stable", ignore_index=True)[list(COLUMNS)]
        .astype({"answer": str, "answered": bool})
    )


def same_class(plan: pd.DataFrame, manifest: pd.DataFrame) -> BoolArray:
    """Whether each row's candidate has the class of its query image: bool, shape (rows of the plan,)."""
    label = manifest.set_index("image_id")["label"]
    return np.asarray(label.loc[plan["query_image"]].to_numpy() == label.loc[plan["image"]].to_numpy())
