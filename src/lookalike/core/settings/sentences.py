"""What is wrong with settings, each in one sentence that starts with the place and says what there is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic_core import ErrorDetails

from lookalike.core.errors import LookalikeError, existing


def refer(place: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name at `place` that is none of the known ones."""
    known = list(known)
    if name not in known:
        raise LookalikeError(f"config: {place} names {name!r}, which does not exist; {existing(name, known)}")


def refer_kind(place: str, kind: str, kinds: Iterable[str], what: str) -> None:
    """Refuse a study on a data set of a kind that has not what it needs."""
    if kind not in kinds:
        raise LookalikeError(f"config: {place} needs a data set with {what}, of kind {', '.join(kinds)}, not {kind}")


def refer_once(place: str, roles: Mapping[str, list[str]], known: Iterable[str]) -> None:
    """Refuse methods of a study that do not exist, and one that has two roles in it."""
    known, seen = list(known), set[str]()
    for role, names in roles.items():
        for name in names:
            refer(f"{place}.{role}", name, known)
            if name in seen:
                raise LookalikeError(
                    f"config: {place} lists {name!r} more than once under {', '.join(roles)}: name it in one of them"
                )
            seen.add(name)


def check_exhibits(place: str, asked: Mapping[str, list[str]], known: Iterable[str], subsets: Iterable[str]) -> None:
    """Refuse an exhibit that there is not, or a subset that its study has not."""
    known, subsets = list(known), list(subsets)
    for exhibit, its_subsets in asked.items():
        refer(f"{place}.exhibits", exhibit, known)
        for subset in its_subsets:
            refer(f"{place}.exhibits.{exhibit}", subset, subsets)


def sentence(error: ErrorDetails) -> str:
    """Say in one sentence which key of the settings is wrong, and what it must be."""
    location = [str(part) for part in error["loc"]] or [""]
    if location[0] == "datasets" and location[-1] != "[key]":  # the third is the kind, by which the keys are chosen
        del location[2:3]
    *above, last = location
    place, above_place = (".".join(parts) or "the top level" for parts in ([*above, last], above))
    context, value = error.get("ctx", {}), error["input"]
    match error["type"]:
        case "unknown_key":
            return f"config: unknown key {context['key']!r} at {place}; {context['existing']}"
        case "missing":
            return f"config: {above_place} needs `{last}`"
        case "union_tag_not_found":
            return f"config: {place} needs `kind`"
        case "union_tag_invalid":
            return f"config: {place}.kind must be {context['expected_tags']}, not {context['tag']!r}"
        case "string_pattern_mismatch" if last == "[key]":
            return (
                f"config: {above_place} is no id: one starts with a letter or digit and goes on with letters, digits, "
                "'.', '_' or '-', since it becomes part of a path"
            )
        case "model_type" | "dict_type":
            return f"config: {place} must be a map of keys, not {value!r}"
        case "int_type" | "float_type" if isinstance(value, str) and is_number(value):
            return (
                f"config: {place} is the text {value!r}, not a number: YAML reads an exponent as a number only "
                f"with a decimal point and a sign, as in {float(value):.1e}"
            )
    must = re.sub(r"^\w+ should ", "must ", error["msg"])
    return f"config: {place} {must}" + (f", not {value!r}" if not isinstance(value, (dict, list)) else "")


def is_number(text: str) -> bool:
    """Tell whether a text reads as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
