"""What the models of all sections share: strictness, keys that may be left out, and one sentence for each mistake.

A key is described in its `Field`, or by the docstring below it where that is longer than the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError

from lookalike.core.errors import LookalikeError, existing

Entry = TypeVar("Entry")


class _NoNull:
    """Takes null out of the values that a key may be given."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        return schema["schema"] if schema["type"] == "nullable" else schema


Absent = Annotated[Entry | None, _NoNull()]
"""A key that is None where it is left out; null is no value of it."""


class Section(BaseModel):
    """Keys of one section of config.yaml. Its docstring is the section's description in the reference."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, given: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        unknown = sorted(str(key) for key in given if key not in known) if isinstance(given, dict) else []
        if unknown:
            facts = {"key": unknown[0], "existing": existing(unknown[0], known)}
            raise PydanticCustomError("unknown_key", "unknown key '{key}'; {existing}", facts)
        return given

    def require(self, allowed: bool, what: str, value: object) -> None:
        """Refuse values that do not fit together."""
        if not allowed:
            raise PydanticCustomError("fit", "needs {what}, not {value}", {"what": what, "value": str(value)})


def as_written(value: object, check: ValidatorFunctionWrapHandler) -> object:
    """Check a value, and keep it as it is: without defaults filled in, and a whole number as such."""
    check(value)
    return value


def distinct(entries: list[Entry]) -> list[Entry]:
    """Refuse a list that names something twice."""
    twice = [entry for n, entry in enumerate(entries) if entry in entries[:n]]
    if twice:
        raise PydanticCustomError("distinct", "lists {twice} twice", {"twice": repr(twice[0])})
    return entries


def names_or(words: str, least: int, description: str) -> BeforeValidator:
    """Take a list of so many different names, or a text that `words` match whole; `description` is what it must be."""

    def check(names: str | list[str]) -> object:
        is_list = isinstance(names, list) and len(names) >= least and all(isinstance(name, str) for name in names)
        if (is_list and len(set(names)) == len(names)) or (isinstance(names, str) and re.fullmatch(words, names)):
            return names
        raise PydanticCustomError("names", "must be {description}", {"description": description})

    return BeforeValidator(check)


Number = Annotated[float, WrapValidator(as_written)]
Distinct = Annotated[list[Entry], AfterValidator(distinct)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""An id that becomes part of a path; letters, digits, '.', '_' and '-'."""


Kind = TypeVar("Kind", bound=Section)


def validated(section: type[Kind], given: Mapping[str, object]) -> Kind:
    """Return a section with all defaults filled in; a mistake is an error that starts with its place."""
    try:
        return section.model_validate(dict(given))
    except ValidationError as error:
        # the error nearest to the top level explains those below it
        raise LookalikeError(sentence(min(error.errors(), key=lambda details: len(details["loc"])))) from None


def only(kind: type[Kind], section: Kind) -> Kind:
    """Return what one of its bases has of a section: the keys that a job reads, and no others."""
    return kind(**{name: value for name, value in section if name in kind.model_fields and value is not None})


def plain(settings: object, **chosen: Any) -> Any:
    """Return settings as plain values, which Snakemake compares and hands to jobs; absent keys stay absent.

    Of a section, `include` and `exclude` choose keys as pydantic does.
    """
    if isinstance(settings, Section):
        # what is kept as it was written is not of its field's type, which pydantic would warn of
        return settings.model_dump(by_alias=True, exclude_none=True, warnings=False, **chosen)
    if isinstance(settings, Mapping):
        return {name: plain(value) for name, value in settings.items()}
    return [plain(value) for value in settings] if isinstance(settings, (list, tuple)) else settings


def refer(place: str, names: str | Iterable[str], known: Iterable[str]) -> None:
    """Refuse names at `place` that are none of the known ones."""
    known = list(known)
    for name in [names] if isinstance(names, str) else names:
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
        case "int_type" | "float_type" if isinstance(value, str):
            with suppress(ValueError):  # of a text that reads as no number
                return (
                    f"config: {place} is the text {value!r}, not a number: YAML reads an exponent as a number only "
                    f"with a decimal point and a sign, as in {float(value):.1e}"
                )
    must = re.sub(r"^\w+ should ", "must ", error["msg"])
    return f"config: {place} {must}" + (f", not {value!r}" if not isinstance(value, (dict, list)) else "")
