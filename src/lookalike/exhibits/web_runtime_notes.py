"""What the caption of Figure 4 says: what was timed and how it ended, how time grows, what is extrapolated or printed.

Beside `lookalike.exhibits.web_runtime`, which draws the figure (OASIS JMLR Figure 4, NIPS Figure 1b).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.web_context import WebContext
from lookalike.exhibits.web_runtime import (
    LMNN,
    MEASURED,
    OASIS,
    OWN_RUN,
    UNITS,
    lmnn_polynomial,
    lmnn_sizes,
    measured_times,
    printed_times,
    scaling,
    unlearned,
    was_cut_off,
)
from lookalike.exhibits.web_scaling import FIT_FROM, human_time, polynomial

if TYPE_CHECKING:
    import pandas as pd


def notes_on_runtime(context: WebContext, runtime: pd.DataFrame | None, reference: pd.DataFrame) -> str:
    """Sentences of the caption: what was timed, how time grows, and what is extrapolated or printed."""
    measured = [] if context.not_run else measured_times(runtime)
    printed = printed_times(reference)
    parts = []
    if measured:
        parts += [_timed_sentence(context, measured), _stopped_sentence(measured), _own_run_sentence(measured)]
        parts += [_growth_sentence(measured, printed), _extrapolation_sentence(measured, printed)]
    nothing = [] if context.not_run else unlearned(runtime)
    if nothing:
        told = ", ".join(f"{learner} at {n_images:,} {UNITS[learner]}" for learner, n_images in nothing)
        parts.append(f"Without a time, since no step beat the start on validation images: {told}.")
    if printed:
        parts.append(
            "Hollow: printed, on other machines; circles and diamonds by the labels of NIPS Figure 1b (its LMNN on "
            "MNIST, that of the largest size projected in print), the square by JMLR section 5.2.1."
        )
    return " ".join(filter(None, parts))


def _timed_sentence(context: WebContext, measured: Sequence[Mapping[str, Any]]) -> str:
    several = [one for one in measured if one["n_repeats"] > 1]
    told = ", ".join(dict.fromkeys(f"{one['n_repeats']} of {one['series']}" for one in several))
    spread = (
        f"; medians and bars (least and largest) where there are repeats: {told}" if several else ", one fit a size"
    )
    lmnn = any(one["learner"] == LMNN for one in measured)
    beside = (
        "; LMNN (active set) on rows of a labelled synthetic set of MNIST's shape, 10 classes x 784" if lmnn else ""
    )
    processors = f" on {' and '.join(context.processors)}" if context.processors else ""
    settings = _settings(context)
    return (
        f"Filled: ours, processor time of training, of all threads{processors}{spread}. OASIS{settings}, up to the "
        f"step of the best validation mAP, every size a {context.source} collection of its own with topics to its "
        f"scale{beside}."
    )


def _settings(context: WebContext) -> str:
    names = {"aggressiveness": "C", "patience": "patience"}
    told = [
        f"{name} = {context.runtime_settings[key]:g}" for key, name in names.items() if key in context.runtime_settings
    ]
    return f" ({', '.join(told)})" if told else ""


def _stopped_sentence(measured: Sequence[Mapping[str, Any]]) -> str:
    """How every point stopped, and what an arrow is."""
    told = []
    for series, stopped in dict.fromkeys((one["series"], one["stopped"]) for one in measured):
        own = [one for one in measured if (one["series"], one["stopped"]) == (series, stopped)]
        sizes = ", ".join(f"{one['n_images']:,}" for one in own)
        told.append(f"{series} at {sizes} {UNITS[own[0]['learner']]} ({stopped})")
    parts = [f"How training ended: {'; '.join(told)}."]
    if any(was_cut_off(one) for one in measured):
        parts.append("No fit goes through times of runs that ended at a limit.")
    if any(one["lower_bound"] for one in measured):
        parts.append("Arrows: lower bounds, since mAP was still growing (OASIS) or the fit had not converged (LMNN).")
    return " ".join(parts)


def _own_run_sentence(measured: Sequence[Mapping[str, Any]]) -> str:
    own = [one for one in measured if one["source"] == OWN_RUN]
    if not own:
        return ""
    own_threads, threads = (
        max((one["n_threads"] for one in rows), default=0) for rows in _by_source(measured).values()
    )
    beside = f", on {own_threads} threads instead of {threads}" if threads and own_threads != threads else ""
    return (
        "Large star: the study's own training, no part of the dotted line: collection, C and stopping rule "
        f"are its own{beside}."
    )


def _by_source(measured: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Records of OASIS: the study's own run, and the sizes."""
    oasis = [one for one in measured if one["learner"] == OASIS]
    return {source: [one for one in oasis if one["source"] == source] for source in (OWN_RUN, MEASURED)}


def _extrapolation_sentence(measured: Sequence[Mapping[str, Any]], printed: Sequence[Mapping[str, Any]]) -> str:
    fit = lmnn_polynomial(measured)
    largest = max((one["n_images"] for one in printed), default=0)
    sizes = lmnn_sizes(measured)
    if fit is None or largest <= max(sizes):
        return ""
    return (
        "Dashed: extrapolation of LMNN, a polynomial of second degree (coefficients not negative) through its "
        f"{len(sizes)} measured sizes of {FIT_FROM} rows or more, {' '.join(f'{size:,},' for size in sizes)} to the "
        f"largest size in print, {largest / max(sizes):,.0f} times as many rows as were measured: at {largest:,} rows "
        f"it says {human_time(float(polynomial(fit, largest)))}."
    )


def _growth_sentence(measured: Sequence[Mapping[str, Any]], printed: Sequence[Mapping[str, Any]]) -> str:
    law = scaling(measured)
    if law is None:
        return ""
    interval = " (95% interval)" if not math.isnan(law.half_width) else ""
    beside = scaling([one for one in printed if one["series"] == "OASIS, printed"])
    in_print = f"; the same through the printed points: {beside.told}" if beside is not None else ""
    return (
        f"Dotted: time of OASIS grows as (images)^{law.told}{interval}, by least squares in logarithms over "
        f"{law.n_sizes} sizes{in_print}."
    )
