"""The representations of one's own images by name: made new, or restored from what a model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.own_images.dense import Described
from lookalike.own_images.describing import Arrays, Representation
from lookalike.own_images.visterms import VISTERMS, Visterms


def make_representation(name: str, words: int | None = None, **settings: Any) -> Representation:
    """Make a representation that is not fitted yet.

    Parameters
    ----------
    name : str
        ``"visterms"`` or a describer of the fine-grained study.
    words : int, optional
        Of visterms.
    **settings
        As `Representation.settings` returns them.

    Raises
    ------
    LookalikeError
        When there is no such representation, or it has no words to set.
    """
    from lookalike.features.describers import DESCRIBERS, SHORT_NAMES

    if name == VISTERMS:
        return Visterms(words, **settings)
    if name not in {*DESCRIBERS, *SHORT_NAMES}:
        known = ", ".join([VISTERMS, *DESCRIBERS, *SHORT_NAMES])
        raise LookalikeError(f"there is no representation {name!r}: take one of {known}, or a .lookalike file")
    if words is not None:
        raise LookalikeError(f"--words is of visterms, and {name} has none: leave it out or take visterms")
    return Described(name, **settings)


def restore_representation(name: str, settings: Mapping[str, Any], arrays: Arrays) -> Representation:
    """Make a fitted representation of what a model file holds.

    Raises
    ------
    LookalikeError, KeyError, TypeError, ValueError
        When the arrays or settings are not those of such a representation.
    """
    restored = make_representation(name, **dict(settings))
    restored._restore(arrays)
    return restored
