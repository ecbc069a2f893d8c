"""What the settings of a fine-grained study must hold to before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import TRIPLET_KINDS


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a fine-grained study that name what does not exist."""
    study, place = settings["finegrained"][dataset], f"finegrained.{dataset}"
    kind = settings["datasets"][dataset]["kind"]
    if kind not in TRIPLET_KINDS:
        raise LookalikeError(
            f"config: {place} needs a data set with triplets, of kind {', '.join(TRIPLET_KINDS)}, not {kind}"
        )
    for system, parameters in study["features"].items():
        check_describer(f"{place}.features.{system}", system, parameters)
    shares = [study["sampler"]["out_of_class"], *study.get("sampling_study", {"out_of_class": []})["out_of_class"]]
    fractions = [share for share in shares if abs(100 * share - round(100 * share)) > 1e-6]
    if fractions:
        # the share is a part of file names
        raise LookalikeError(
            f"config: {place}: a share of out-of-class negatives is a whole percent, such as 0.2, not {fractions[0]}"
        )


def check_describer(place: str, system: str, parameters: Mapping[str, Any]) -> None:
    """Refuse settings that a hand-crafted describer does not take."""
    # a describer's module, which may be heavy, is imported when it is asked for
    from lookalike.features.describers import make_describer

    try:
        make_describer(system, **parameters)
    except (LookalikeError, ValueError) as error:
        raise LookalikeError(f"config: {place}: {error}") from error
    except TypeError as error:
        raise LookalikeError(
            f"config: {place}: a setting is of the wrong type in {parameters}: look it up in the docstring of the "
            "describer"
        ) from error
