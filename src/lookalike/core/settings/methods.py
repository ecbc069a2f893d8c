"""Settings of methods, and the changes that a study and a codebook make to them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from lookalike.core.settings.model import Absent, Number, Section

Batch = Literal["fold", "method", "subset"]
"""Which fits share a job."""


class Trace(Section):
    """For learners that take steps: where mAP is computed along training. Early stopping chooses one of these steps."""

    stop: bool = True
    """`true`: the final fit stops at the best traced step. `false`: the learner runs to its own end, and the trace is
    only for figures."""
    as_learned: bool = False
    """`true`: the stop is chosen by scores of the model before the projection that ends a fit, and not after it."""
    first: int = Field(100, ge=1, description="First traced step after 0.")
    steps: int = Field(250000, ge=1, description="Longest run, in training steps.")
    points: int = Field(60, ge=2, description="Number of log-spaced points at which mAP is traced.")
    aggressiveness: Number = Field(0.1, gt=0, description="The fixed aggressiveness of the traced figures.")


class Fit(Section):
    """What decides a fit of a method."""

    learner: str = Field(None)  # type: ignore[assignment]
    """Class name in `lookalike.learners`; an entry of `methods` needs one."""
    parameters: dict[str, Any] = Field({})
    """Constructor arguments of the learner that are not chosen. `n_blocks` of QPAO, if left out, is 50 for codebooks
    of up to 100,000 words and 500 for larger ones."""
    select: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field({})
    """Values to choose from, by constructor argument. Each fold chooses one combination on held-out images."""
    time_limit: Absent[Number] = Field(None, gt=0)
    """Seconds of processor time on a fold, for choosing settings and the final fit together (a trace for figures has as
    many again). A method that takes longer gets the papers' `*` and a reason. The papers gave up after five days. No
    limit if left out."""
    trace: Absent[Trace] = None


class Method(Fit):
    """One row or column of the comparisons."""

    title: Absent[str] = Field(None, description="Name in tables and legends; the id if left out.")
    note: Absent[str] = None
    """A note for captions of exhibits that show the method, such as a limit that the papers do not have."""
    batch: Batch = "fold"
    """Which fits share a job. It changes no number. `fold`: a job for every fold of a subset; `method`: one job for
    all its folds; `subset`: one job for all folds of all methods that say so. In the landmark study a fold is a
    landmark, and a subset all landmarks with a codebook."""

    def changed(self, changes: Method | None) -> Method:
        """Return the method with changes laid over it: those of `parameters`, `select` and `trace` key by key."""
        if changes is None:
            return self
        laid: dict[str, object] = {name: getattr(changes, name) for name in changes.model_fields_set}
        laid |= {name: getattr(self, name) | laid[name] for name in ("parameters", "select") if name in laid}
        if self.trace and changes.trace:
            given = changes.trace.model_fields_set
            laid["trace"] = self.trace.model_copy(update={name: getattr(changes.trace, name) for name in given})
        return self.model_copy(update=laid)


def _as_set(changes: Method) -> dict[str, object]:
    # no number depends on a batch, so that no job and no exhibit is given one
    return changes.model_dump(exclude_unset=True, exclude={"batch"}, warnings=False)


Changes = Annotated[Method, PlainSerializer(_as_set)]
"""Keys of a method that are laid over others; what is not named has its default here, and does not count as set."""

Overrides = Annotated[
    dict[str, Changes],
    Field(description="Changes to `methods` for this data set only, by method id. Other keys stay as they are."),
]
