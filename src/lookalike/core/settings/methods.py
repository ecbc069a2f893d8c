"""Settings of methods, and the changes that a study and a codebook make to them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, WrapValidator

from lookalike.core.settings.data_sets import section_of
from lookalike.core.settings.model import ABSENT, Number, Section, as_written, completed, left_out

Batch = Literal["fold", "method", "subset"]
"""Which fits share a job."""

BatchOfStudy = Annotated[
    Batch,
    Field(
        description="`batch` of all methods of the study, except those whose `overrides` set one. If left out, each "
        "method has its own. With `subset`, traces of training run in the same job, and all rankers in one job."
    ),
]


class Trace(Section):
    """For learners that take steps: where mAP is computed along training. Early stopping chooses one of these steps."""

    stop: bool = True
    """`true`: the final fit stops at the best traced step. `false`: the learner runs to its own end, and the trace is
    only for figures."""
    first: int = Field(100, ge=1, description="First traced step after 0.")
    steps: int = Field(250000, ge=1, description="Longest run, in training steps.")
    points: int = Field(60, ge=2, description="Number of log-spaced points at which mAP is traced.")
    aggressiveness: Number = Field(0.1, gt=0, description="The fixed aggressiveness of the traced figures.")


class Method(Section):
    """One row or column of the comparisons."""

    title: str = left_out(description="Name in tables and legends; the id if left out.")
    learner: str = left_out(description="Class name in `lookalike.learners`; an entry of `methods` needs one.")
    note: str = ABSENT
    """A note for captions of exhibits that show the method, such as a limit that the papers do not have."""
    batch: Batch = "fold"
    """Which fits share a job. It changes no number. `fold`: a job for every fold of a subset; `method`: one job for
    all its folds; `subset`: one job for all folds of all methods that say so. In the landmark study a fold is a
    landmark, and a subset all landmarks with a codebook."""
    parameters: dict[str, Any] = Field({})
    """Constructor arguments of the learner that are not chosen. `n_blocks` of QPAO, if left out, is 50 for codebooks
    of up to 100,000 words and 500 for larger ones."""
    select: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field({})
    """Values to choose from, by constructor argument. Each fold chooses one combination on held-out images."""
    time_limit: Number = left_out(gt=0)
    """Seconds of processor time on a fold, for choosing settings and the final fit together (a trace for figures has as
    many again). A method that takes longer gets the papers' `*` and a reason. The papers gave up after five days. No
    limit if left out."""
    trace: Trace = ABSENT


Changes = Annotated[Method, WrapValidator(as_written)]
"""Keys of a method that are laid over others: without defaults, which would change what is not named."""

Overrides = Annotated[
    dict[str, Changes],
    Field(description="Changes to `methods` for this data set only, by method id. Other keys stay as they are."),
]


def method_spec(
    config: Mapping[str, Any],
    dataset: str,
    method: str,
    codebook: str | None = None,
    words: int | None = None,
    *,
    subset: str | None = None,
) -> dict[str, Any]:
    """Return the settings of a method with the overrides of its study, and then of a codebook or a subset of it."""
    spec: dict[str, Any] = copy.deepcopy(config["methods"][method])
    study = config[section_of(config, dataset)][dataset]
    of_codebook = study.get("codebook_overrides", {}).get(codebook, {})
    of_subset = study.get("subsets", {}).get(subset, {}).get("overrides", {})
    for overrides in (study["overrides"], of_codebook, of_subset):
        for key, value in overrides.get(method, {}).items():
            # values are replaced, but those of `parameters`, `select` and `trace` one by one
            spec[key] = {**spec.get(key, {}), **value} if isinstance(value, Mapping) else value
    if codebook in config["codebooks"]:
        words = config["codebooks"][codebook]["words"]
    if spec["learner"] == "QPAO" and words:
        spec["parameters"].setdefault("n_blocks", qpao_blocks(words))
    return completed(Method, spec)


def qpao_blocks(words: int) -> int:
    """Return the number of blocks of words that QPAO goes through, as in the SOML paper (AAAI 2014)."""
    return 50 if words <= 100_000 else 500
