"""Choosing hyper-parameters and the step to stop at, on a validation cut (JMLR section 5.3.2, draft section 5.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from lookalike.learners.gram import Gram, Seen
from lookalike.learners.oasis import PassiveAggressive

MEASURED = ("step", "map", "loss_rate")


def grid(choices: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of the listed values, in the order in which they are listed; one empty dict for no choice."""
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def trace_candidates(
    make_learner: Callable[[dict[str, Any]], Any],
    candidates: Sequence[Mapping[str, Any]],
    X_train: Any,
    y_train: Any,
    X_val: Any,
    y_val: Any,
    steps: npt.NDArray[np.integer[Any]] | None,
) -> pd.DataFrame:
    """Train each candidate and score it on the validation images, which query each other: rows by step."""
    seen, products = Seen(X_val), {dtype: Gram.of(X_train, dtype) for dtype in ("float32", "float64")}

    def validation_map(model: Any, step: int = 0) -> dict[str, float]:
        return {"map": seen.rankings(as_stopped(model), y_val).mean_average_precision()}

    def measure(candidate: dict[str, Any]) -> dict[str, Any]:
        if steps is None:
            model = make_learner(candidate).fit(X_train, y_train)
            return {"step": [int(getattr(model, "n_steps_", 0))], **validation_map(model)}
        # step 0 is traced too: not to learn is a choice
        learner = make_learner({**candidate, "n_steps": int(steps[-1])})
        if isinstance(learner, PassiveAggressive):
            learner.share(products[learner.dtype])
        return dict(learner.fit(X_train, y_train, trace=validation_map, trace_steps=steps).curve_)

    tables: list[pd.DataFrame] = []
    for candidate in candidates:
        measured = measure(dict(candidate))
        measured.setdefault("loss_rate", np.nan)
        table = pd.DataFrame({key: measured[key] for key in MEASURED})
        for position, (name, value) in enumerate(candidate.items()):
            table.insert(position, name, value)
        tables.append(table.astype({"step": np.int64}))
    return pd.concat(tables, ignore_index=True)


def as_stopped(model: Any) -> Any:
    """Return the model that a fit which stops here would give: a learner may project once at its end."""
    return model.as_stopped() if hasattr(model, "as_stopped") else model


def best_candidate(table: pd.DataFrame) -> tuple[dict[str, Any], int]:
    """Hyper-parameters and step with the best mean validation mAP of one or several validation cuts in one table."""
    names = [column for column in table.columns if column not in MEASURED]
    means = table.groupby([*names, "step"], dropna=False)["map"].mean().dropna().reset_index()
    # ties go to fewer steps, then to the smaller value of each hyper-parameter
    best = means.sort_values(["map", "step", *names], ascending=[False, True, *[True] * len(names)], kind="stable")
    chosen = {name: best[name].tolist()[0] for name in (*names, "step")}
    return chosen, int(chosen.pop("step"))
