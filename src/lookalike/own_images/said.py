"""What a model file says of itself, checked without a library of learners: kinds of values, and counts that agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from lookalike.own_images.roles import HELD_OUT, TRAIN

Kinds = dict[str, type | tuple[type, ...]]

ABOUT: Kinds = {
    "format": str,
    "format_version": int,
    "representation": dict,
    "learner": dict,
    "learned_from": str,
    "n_images": int,
    "n_held_out": int,
    "n_left_out": int,
    "n_triplets": int,
    "triplets_left_out": int,
    "hold_out": (int, float),
    "classes": dict,
    "seed": int,
    "seconds": dict,
    "made_by": dict,
}
"""What a model says, and of which types it is."""

_REPRESENTATION: Kinds = {
    "name": str,
    "dimensions": int,
    "settings": dict,
    "learned_components": (int, type(None)),
}
_LEARNER: Kinds = {"name": str, "parameters": dict}
_STEPS: Kinds = {"n_steps": int, "n_updates": int, "n_iter": int, "metric": str}  # said where a learner has them
_PLAIN = (str, int, float, bool, list, type(None))


def check_said(header: Mapping[str, Any]) -> None:
    """Check the JSON values of a model file.

    Parameters
    ----------
    header : mapping
        As of `lookalike.own_images.model_file.read_header`.

    Raises
    ------
    ValueError
        When a value is missing or of another kind, or numbers of images are not those of the images it names.
    """
    _check(header, ABOUT, "")
    _check(header["representation"], _REPRESENTATION, "representation.")
    _check(header["learner"], _LEARNER, "learner.")
    learner = header["learner"]
    _check(learner, {name: kind for name, kind in _STEPS.items() if name in learner}, "learner.")
    _check_values(header, "classes", int)
    _check_values(header, "seconds", (int, float))
    _check_values(header, "made_by", str)
    _check_values(header["representation"], "settings", _PLAIN)
    _check_values(learner, "parameters", _PLAIN)
    _check_columns(header, "images", ("path", "label", "sha256", "role"))
    _check_columns(header, "left_out", ("path", "reason"))
    images = header["images"]
    roles = Counter(images["role"])
    counts = {"n_images": roles[TRAIN], "n_held_out": roles[HELD_OUT], "n_left_out": len(header["left_out"]["path"])}
    for name, number in counts.items():
        if header[name] != number:
            raise ValueError(f"{name} is {header[name]:,}, and it names {number:,}")
    pairs = zip(images["label"], images["role"], strict=True)
    if header["classes"] != Counter(label for label, role in pairs if label and role == TRAIN):
        raise ValueError("its classes are not those of its images")


def _check(values: Mapping[str, Any], kinds: Kinds, where: str) -> None:
    for name, kind in kinds.items():
        # True is an int for Python, and no number of anything
        if name not in values or not isinstance(values[name], kind) or isinstance(values[name], bool):
            raise ValueError(f"{where}{name} is {'of another kind' if name in values else 'missing'}")


def _check_values(values: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> None:
    for key, value in values[name].items():
        if not isinstance(value, kind):
            raise ValueError(f"{key} of {name} is of another kind")


def _check_columns(header: Mapping[str, Any], name: str, columns: tuple[str, ...]) -> None:
    table = header.get(name)
    if not isinstance(table, dict) or not all(isinstance(table.get(column), list) for column in columns):
        raise ValueError(f"{name} is missing")
    if len({len(table[column]) for column in columns}) != 1:
        raise ValueError(f"the columns of {name} are not of one length")
    if not all(isinstance(value, str) for column in columns for value in table[column]):
        raise ValueError(f"{name} holds something else than text")
