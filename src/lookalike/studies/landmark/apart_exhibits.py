"""Exhibits of the landmark study that are not of its images: photographs, and simulated bags of words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

import pandas as pd

from lookalike.exhibits import words
from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.model import Axis, Figure, Line, Panel, Series, Table
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.style import GREY, OTHERS, PURPLE, Look, looks_of
from lookalike.studies.landmark.rankings import MAP, NONZEROS, PHOTOGRAPHS, SPARSITY, UPDATE_SHARE
from lookalike.studies.landmark.readings import both_nearest, distance_words, level_of, order_at, order_words
from lookalike.studies.landmark.settings import Readings, gamma_setting, setting_of, words_setting
from lookalike.studies.landmark.study import PRINTED, RANKED, TIMES, TRAIN_TIME, LandmarkStudy
from lookalike.studies.metrics import select

BURSTINESS_LOOKS = (Look(PURPLE, "s"), *OTHERS)


@exhibit(
    "landmark/photographs",
    title="The same methods on photographs",
    needs=("photographs", "metrics", "fits", "contrasts"),
    when=lambda study: study.photographs,
)
def on_photographs(study: LandmarkStudy) -> Table:
    """What one pass of each method gains on the sparse bags of words of real photographs, each class a landmark."""
    methods = study.photographs.methods if study.photographs is not None else []
    records = []
    for method in methods:
        levels = {metric: level_of(study, PHOTOGRAPHS, metric, method) for metric in (MAP, SPARSITY, UPDATE_SHARE)}
        gaps = study.contrasts.intervals(PHOTOGRAPHS, MAP, method, "tfidf")
        cells = {f"{metric}_cell": "-" if math.isnan(value) else f"{value:.1f}" for metric, value in levels.items()}
        gap, ends = (gaps[0].mean, (gaps[0].low, gaps[0].high)) if gaps else (math.nan, (math.nan, math.nan))
        numbers = {**levels, "gap": gap, "low": ends[0], "high": ends[1]}
        records.append({"method": method, **cells, "gap_cell": words.gap(gaps) if gaps else "-", **numbers})
    heads = {"method": "", f"{MAP}_cell": "mAP (%)", "gap_cell": "mAP minus that of TF-IDF"}
    heads |= {f"{SPARSITY}_cell": "zero weights (%)", f"{UPDATE_SHARE}_cell": "steps with an update (%)"}
    titles = {"method": {method: study.title_of(method) for method in methods}}
    columns = frozenset(name for name in heads if name.endswith("_cell"))
    notes = tuple(_photograph_notes(study))
    return Table(pd.DataFrame(records), heads=heads, titles=titles, numbers=columns, notes=notes)


def _photograph_notes(study: LandmarkStudy) -> Iterator[str]:
    """Say what these bags of words are, and whether any method that learns is above TF-IDF for sure."""
    settings = study.photographs
    if settings is None:
        return
    nonzeros, learning = level_of(study, PHOTOGRAPHS, NONZEROS, ""), settings.learning
    first = study.vocabularies[0]
    in_table = float(select(study.values, representation=first.id, metric=NONZEROS)["value"].mean())
    yield (
        f"An image has {nonzeros:.0f} of {settings.words:,} words, one of Table 1 {in_table:.0f} of {first.title}. "
        f"Each class is learned from {learning.positives} of its images and {learning.negatives} others."
    )
    gaps = {method: study.contrasts.intervals(PHOTOGRAPHS, MAP, method, "tfidf") for method in settings.methods}
    sure = [study.title_of(method) for method, rows in gaps.items() if rows and rows[0].low > 0]
    yield f"Above TF-IDF beyond its interval: {', '.join(sure) or 'no method that learns'}."
    yield "Words, kinds of things and numbers of images all differ from Oxford5K's, so this does not say why."
    yield "Intervals are of a t-test over classes. Classes of a draw share chosen constants, which it does not count."


@exhibit(
    "landmark/diagram",
    title="Where the printed order of methods comes out",
    needs=("readings", "contrasts"),
    when=lambda study: study.readings,
)
def order_of_methods(study: LandmarkStudy) -> Figure:
    """In which order methods come on simulated bags of words, by codebook, burstiness and gamma of S-DA."""
    readings = study.readings
    if readings is None:
        return Figure(pd.DataFrame(), ())
    methods = [method for method in reversed(RANKED) if method in readings.methods]
    frame = pd.DataFrame(_levels_and_gaps(study, readings, methods))
    sizes = [f"{size:,} words" for size in readings.words]
    titles = iter(lettered([*sizes, *(sizes if readings.gamma else ())]))
    panels, looks, ends = [], looks_of(methods), ("low", "high")
    ticks = tuple((value, f"{value:g}") for value in readings.burstiness)
    for size in readings.words:
        series = []
        for place, method in enumerate(methods):
            where, aside = {"series": method, "words": size}, 0.02 * (place - (len(methods) - 1) / 2)
            line = Series(study.title_of(method), where, "burstiness", "map", looks[method], *ends, aside=aside)
            series.append(line)
        y = Axis("Mean average precision (%)" if size == readings.words[0] else "", text="{:.1f}%")
        panels.append(Panel(next(titles), Axis("Burstiness", "log", ticks=ticks), y, tuple(series)))
    for size in readings.words if readings.gamma else ():
        series = []
        for place, (burstiness, look) in enumerate(zip(readings.burstiness, cycle(BURSTINESS_LOOKS), strict=False)):
            name, aside = f"burstiness {burstiness:g}", 0.04 * (place - (len(readings.burstiness) - 1) / 2)
            where = {"series": name, "words": size}
            series.append(Series(name, where, "gamma", "gap", look, *ends, aside=aside, note="order"))
        varied = f"{study.title_of(readings.varied)} minus OASIS (points)"
        y = Axis(varied if size == readings.words[0] else "", text="{:+.1f} points")
        zero = Line("", 0, Look(GREY, ""))
        panels.append(Panel(next(titles), Axis("gamma", "log"), y, tuple(series), (zero,)))
    n = readings.bags.landmarks * readings.learning.draws
    notes = (
        f"Means over {n} simulated landmarks; bars are 95% intervals (t-test over landmarks). "
        "Burstiness is how often a feature of an image stands in it on average.",
        "Upper panels are of the printed constants; in the lower ones gamma of S-DA varies.",
        "Each landmark is learned from {positives} images and {negatives} others.".format(**dict(readings.learning)),
        *order_words(study),
    )
    return Figure(frame, tuple(panels), notes=notes, n_columns=max(2, len(readings.words)), size=(3.2, 2.6))


def _levels_and_gaps(study: LandmarkStudy, readings: Readings, methods: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield the frame's rows: each method in each cell, and S-DA minus OASIS with each gamma."""
    for size, burstiness in readings.cells():
        setting = setting_of(size, burstiness)
        here = {"words": size, "burstiness": burstiness}
        for row in (row for method in methods for row in study.contrasts.intervals(setting, MAP, method)):
            yield {**here, "series": row.first, "map": row.mean, "low": row.low, "high": row.high}
        for gamma in readings.gamma:
            own = gamma_setting(setting, gamma)
            names = {**here, "gamma": gamma, "series": f"burstiness {burstiness:g}"}
            order = order_at(study, own, setting, readings.varied)
            for row in study.contrasts.intervals(own, MAP, readings.varied, "oasis-diagonal"):
                yield {**names, "gap": row.mean, "low": row.low, "high": row.high, "order": order}


@exhibit(
    "landmark/fingerprint",
    title="Readings of the algorithms beside the printed sparsities and times",
    needs=("readings", "contrasts", "time_contrasts"),
    when=lambda study: study.readings,
)
def fingerprint(study: LandmarkStudy) -> Figure:
    """Which reading of the algorithms gives the sparsities and times of the paper's Tables 4 to 9."""
    readings = study.readings
    if readings is None:
        return Figure(pd.DataFrame(), ())
    frame = pd.DataFrame(_readings_beside_print(study))
    looks = looks_of([method for method in readings.methods if method != "tfidf"])
    panels = []
    titles = iter(lettered(["Sparsity, S-TG", "Sparsity, S-DA", "Training time"]))
    sizes = sorted(set(frame["words"]))
    ticks = tuple((size, f"{size / 1000:,.0f}k") for size in sizes)
    x = Axis("Number of visterms", "log", ticks=ticks, text="{:,.0f} words")
    for base in ("soml-tg", "soml-da"):
        own = [method for method in looks if method.startswith(base) and not method.endswith("-chosen")]
        y = Axis("Weights that are zero (%)" if base == "soml-tg" else "", text="{:.1f}%")
        series = _lines(study, own, SPARSITY, looks)
        panels.append(Panel(next(titles), x, y, (*series, _in_print(study, base, SPARSITY, looks[base]))))
    own = [method for method in ("oasis-diagonal", "soml-tg", "soml-da") if method in looks]
    series = _lines(study, own, TRAIN_TIME, looks)
    in_print = [_in_print(study, method, TRAIN_TIME, looks[method]) for method in own]
    y = Axis("Seconds of processor time", "log", tick_form="short", text="{:.3g} s")
    panels.append(Panel(next(titles), x, y, (*series, *in_print)))
    return Figure(frame, tuple(panels), notes=fingerprint_notes(study), n_columns=3, size=(3.2, 2.8))


def _lines(study: LandmarkStudy, methods: Sequence[str], metric: str, looks: Mapping[str, Look]) -> list[Series]:
    """Return a line for each method, with the least and the largest over burstiness."""
    found = []
    for place, method in enumerate(methods):
        where, aside = {"series": method, "metric": metric}, 0.06 * (place - (len(methods) - 1) / 2)
        line = Series(study.title_of(method), where, "words", "value", looks[method], "low", "high", aside=aside)
        found.append(line)
    return found


def _in_print(study: LandmarkStudy, method: str, metric: str, look: Look) -> Series:
    title, where = f"{study.title_of(method)}, printed", {"series": f"{method}, {PRINTED}", "metric": metric}
    return Series(title, where, "words", "value", Look(look.colour, look.marker), kind="points", hollow=True)


def _readings_beside_print(study: LandmarkStudy) -> Iterator[dict[str, object]]:
    """Yield the frame's rows: each method's sparsity over burstiness and its time, and the printed means."""
    readings = study.readings
    if readings is None:
        return
    nearest, _ = both_nearest(study)
    for method in (method for method in readings.methods if method != "tfidf"):
        for size in readings.words:
            cells = {burstiness: setting_of(size, burstiness) for burstiness in readings.burstiness}
            values = pd.Series({key: level_of(study, cell, SPARSITY, method) for key, cell in cells.items()}).dropna()
            names = {"series": method, "words": size}
            if len(values):
                ends = {"low": values.min(), "high": values.max()}
                yield {**names, "metric": SPARSITY, "value": values[nearest], **ends}
            for row in study.contrasts.intervals(words_setting(size), TIMES[TRAIN_TIME], method):
                yield {**names, "metric": TRAIN_TIME, "value": row.mean, "low": row.low, "high": row.high}
        for metric in (SPARSITY, TRAIN_TIME):
            for size, value in study.printed_means(metric, method).items():
                yield {"series": f"{method}, {PRINTED}", "words": size, "metric": metric, "value": value}


def fingerprint_notes(study: LandmarkStudy) -> tuple[str, ...]:
    """Say what stands in the panels, and which reading is nearest to the printed sparsities."""
    by_sparsity, by_map = both_nearest(study)
    return (
        f"Sparsities are of burstiness {by_sparsity:g}, with which S-TG is nearest to print. With {by_map:g} "
        "TF-IDF, which learns nothing, is nearest to its printed mAP. Bars are the least and the largest over "
        "burstiness. Hollow markers are means of the paper.",
        *distance_words(study),
        "Times are medians over landmarks and burstiness, of one thread here and of the authors' machine in print: "
        "their course over words can be compared.",
    )
