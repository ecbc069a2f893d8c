"""Types of learners' parameters, which say what values they may have, and the check of a learner by them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np


class Limit(NamedTuple):
    """What a number must be, in words, and whether it is that."""

    words: str
    holds: Callable[[float], bool]


Count = Annotated[int, Limit("a whole number from 0 to 2**63", lambda value: _is_whole(value, 0))]
PositiveCount = Annotated[int, Limit("a whole number from 1 to 2**63", lambda value: _is_whole(value, 1))]
Finite = Annotated[float, Limit("finite", lambda value: -np.inf < value < np.inf)]
Positive = Annotated[float, Limit("larger than 0", lambda value: value > 0)]
PositiveFinite = Annotated[float, Limit("larger than 0 and finite", lambda value: 0 < value < np.inf)]
NotNegative = Annotated[float, Limit("0 or larger", lambda value: value >= 0)]
NotNegativeFinite = Annotated[float, Limit("0 or larger and finite", lambda value: 0 <= value < np.inf)]
Precision = Literal["float32", "float64"]


def check_parameters(learner: Any) -> None:
    """Raise ValueError for a parameter that is not what the type of its field says: a `Limit` or a choice."""
    for name, kind in _types_of(learner.__class__).items():
        value: Any = getattr(learner, name, None)
        choices = get_args(kind)
        if get_origin(kind) is Literal:
            require(learner, value in choices, name, f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}")
        if value is None and type(None) in choices:
            continue
        for part in (kind, *choices):
            for limit in getattr(part, "__metadata__", ()):
                words = limit.words if is_number(value) or part.__origin__ is int else "a number"
                require(learner, is_number(value) and limit.holds(value), name, words)


@cache
def _types_of(kind: type) -> dict[str, Any]:
    """Return the types of a class's fields; to evaluate them takes half a millisecond."""
    return get_type_hints(kind, include_extras=True)


def require(learner: Any, holds: object, name: str, words: str) -> None:
    """Raise ValueError that says what a parameter must be, unless it is that."""
    if not holds:
        raise ValueError(f"{name} must be {words}, not {getattr(learner, name)!r}")


def is_number(value: object) -> bool:
    """Tell whether a value is a real number, as True is not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_whole(value: float, least: int) -> bool:
    return least <= value < 2**63 and int(value) == value
