"""Sentences of contrasts and verdicts: the only place that makes any."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.claims import Claim, Reason, Verdict, methods_of, unknown
from lookalike.exhibits.contrasts import (
    GRID,
    ITERATIONS,
    NO_RESULT,
    NOT_RUN,
    SEEDS,
    STEPS,
    TIME,
    TOO_FEW,
    TRAINING,
    Contrast,
    Unit,
)
from lookalike.exhibits.printed import STAR, p_value, significant
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

METRICS = {"map_full": "mAP", "p@k": "precision at top k", "similarity_precision": "precision"}
"""Metrics that are called otherwise in sentences; any other is called as it is, with spaces."""


AMOUNTS: dict[Unit, str] = {
    "points": "{:+,.1f}",
    "small points": "{:+,.2f}",
    "percent": "{}%",
    "count": "{:,.0f}",
    "triplets": "{:+,.0f}",
    "% of triplets": "{:+,.1f}",
    "": "{:.3g}",
}
"""Unit to how an amount is written."""
NAMED: dict[Unit, str] = {"points": " points", "triplets": " triplets", "% of triplets": "% of triplets"}
"""What stands behind an amount."""
SMALL = 0.5
"""Differences in points below it have two decimals."""
WIDTH = 78
"""Columns of sentences in the terminal: none is narrower."""
NO_NUMBER = "–"
"""Stands where print has no number, or no order of methods."""
OUTCOMES = (Outcome.HOLDS, Outcome.FAILS, Outcome.OPEN, Outcome.NOT_RUN)
"""What claims are counted by."""
LIMITS = {
    ITERATIONS: "stopped at its limit of iterations",
    TIME: "ran into its time limit",
    STEPS: "chose the last traced step",
    GRID: "chose an end of its grid",
    TRAINING: "still learned when its training ended",
    SEEDS: "had fewer than three seeds",
}
"""What a method did that a limit of ours ended."""


def signed(text: str) -> str:
    """Return a number with a proper minus, and no sign of a zero."""
    return re.sub("^-", "−", text) if re.search("[1-9]", text) else text.lstrip("+-")


def amount(value: float, unit: Unit) -> str:
    """Return a number in its unit; percents have two significant digits."""
    return signed(AMOUNTS[unit].format(significant(value) if unit == "percent" else value))


def gap(rows: Sequence[Contrast], *, has_unit: bool = True) -> str:
    """Write a number with the widest of its intervals: ``+1.6 points [−1.1, +4.4]``."""
    row, low, high = _widest(rows)
    unit = _unit(row, low, high)
    interval = f" [{amount(low, unit)}, {amount(high, unit)}]" if _is_known(low, high) else ""
    return f"{amount(row.mean, unit)}{NAMED.get(row.unit, '') * has_unit}{interval}"


def _widest(rows: Sequence[Contrast]) -> tuple[Contrast, float, float]:
    """Return a contrast with the ends of the widest of its intervals."""
    lows, highs = (
        [end for end in ends if not math.isnan(end)] or [math.nan]
        for ends in zip(*((r.low, r.high) for r in rows), strict=True)
    )
    return rows[0], min(lows), max(highs)


def _is_known(low: float, high: float) -> bool:
    return math.isfinite(low + high) and low < high


def _unit(row: Contrast, low: float, high: float) -> Unit:
    """Return the unit of a number; small differences have another digit."""
    return "small points" if row.unit == "points" and max(abs(row.mean), abs(high - low)) < SMALL else row.unit


def metric_words(metric: str) -> str:
    """Name a metric in a sentence."""
    return METRICS.get(metric, re.sub(r"^map\b", "mAP", metric.replace("_", " ")))


def difference_words(
    first: str, second: str, metric: str, row: Contrast, low: float, high: float, printed: str = ""
) -> str:
    """Say ``OASIS is 2.4 points higher than LEGO in mAP (95% interval 0.6 to 4.1; the paper: 4)``.

    Without a `second` it is a level: ``sparsity of S-TG: 12.0 (95% interval 8.0 to 16.0)``.
    """
    unit = _unit(row, low, high)
    mean, least, most, zero = (amount(value, unit).lstrip("+") for value in (row.mean, low, high, 0.0))
    beside = [f"95% interval {least} to {most}"] if _is_known(low, high) else []
    beside += [f"the paper: {printed}"] if printed else []
    brackets = f" ({'; '.join(beside)})" if beside else ""
    brackets = f" so far{brackets}" if math.isinf(low) or math.isinf(high) else brackets
    named = NAMED.get(row.unit, "")
    if not second:
        return f"{metric} of {first}: {mean}{named}{brackets}"
    if mean == zero:
        return f"{first} and {second} differ by {zero}{named} in {metric}{brackets}"
    way = "lower" if row.mean < 0 else "higher"
    return f"{first} is {mean.lstrip('−')}{named} {way} than {second} in {metric}{brackets}"


def contrast_words(rows: Sequence[Contrast], title_of: Callable[[str], str]) -> str:
    """Tell of all intervals of one contrast, or why it has no number."""
    row, low, high = _widest(rows)
    first, second = title_of(row.first), title_of(row.second) if row.second else ""
    if unknown(list(rows)) is not None:
        ended = [title_of(side) for side, limit in row.codes if limit == NO_RESULT]
        absent = [title_of(side) for side, limit in row.codes if limit == NOT_RUN and side]
        if ended:
            return f"{' and '.join(ended)} did not end within the time limit"
        few = [title_of(side) for side, limit in row.codes if limit == TOO_FEW]
        if few:
            return f"{' and '.join(few)}: too few {row.interval}"
        return f"{' and '.join(absent)} not run" if absent else f"no {row.metric} here"
    if row.metric == "p@k" and len(rows) > 1:
        return at_every_k(rows, first, second)
    printed = "" if math.isnan(row.printed) else _printed(row)
    said = difference_words(first, second, metric_words(row.metric), row, low, high, printed)
    tested = [interval.p for interval in rows if not math.isnan(interval.p)]
    return f"{said}, p {p_value(tested[0])}" if tested and row.second and row.unit == "points" else said


def _printed(row: Contrast) -> str:
    """Return the printed difference without digits that are not printed."""
    is_whole = round(row.printed, 1) == round(row.printed)
    return signed(f"{row.printed:,.0f}") if is_whole else amount(row.printed, row.unit).lstrip("+")


def at_every_k(rows: Sequence[Contrast], first: str, second: str) -> str:
    """Say at how many k the first is more precise, and how sure it is that it is not at the others."""
    average, *single = rows
    lower = [row.p for row in single if row.mean <= 0]
    mean = difference_words(first, second, "precision on average over k", average, average.low, average.high)
    where = f"; it is higher at {len(single) - len(lower)} of {len(single)} values of k"
    return mean + where + (f", p {p_value(min(lower))} where it is not" if lower else "")


def listed(names: Sequence[str]) -> str:
    """Join names: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def differences(verdict: Verdict, study: Study) -> list[dict[str, Any]]:
    """Return each difference behind a verdict, with the widest of its intervals and the paper's, as pages show it."""
    found = []
    for key, group in groupby(verdict.rows, lambda row: row.key):
        rows = list(group)
        # of precision at k the first is the average over k
        row, low, high = _widest(rows[:1] if key[1] == "p@k" else rows)
        # a limit of ours leaves it open
        so_far = " so far" if math.isinf(low) or math.isinf(high) else ""
        if row.second and not math.isnan(row.mean):
            numbers = {"mean": row.mean, "low": low, "high": high, "printed": row.printed}
            found.append(
                {
                    "key": key,
                    "setting": study.part_title(row.setting) if row.setting else "",
                    "names": f"{study.title_of(row.first)} − {study.title_of(row.second)}",
                    "metric": metric_words(row.metric),
                    "here": f"{gap([replace(row, low=low, high=high)], has_unit=row.unit != 'points')}{so_far}",
                    "paper": NO_NUMBER if math.isnan(row.printed) else f"{'+' * (row.printed > 0)}{_printed(row)}",
                    "unit": row.unit,
                    **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
                }
            )
    return found


def tried_on(verdict: Verdict, study: Study) -> tuple[str, str]:
    """Name the parts that a claim was tried on, and those of its own that it was not; "" where it is about one."""
    settings = dict.fromkeys((*verdict.scope.settings, *verdict.scope.absent))
    if len(settings) < 2:
        return "", ""
    tried = {row.setting for row in verdict.rows if not math.isnan(row.mean)}
    where, elsewhere = (
        listed([study.setting_title(name) for name in settings if (name in tried) == was_tried])
        for was_tried in (True, False)
    )
    return (where, elsewhere) if where else ("", "")


def scope_words(verdict: str, tried: str, untried: str) -> str:
    """Say on which parts a claim was tried, and on which of its own not; "" where it has one part."""
    on, not_on = ("on", "not tried on") if verdict in (Outcome.HOLDS, Outcome.FAILS) else ("tried on", "not on")
    return f"{on} {tried}{f', {not_on} {untried}' if untried else ''}" if tried else ""


def evidence(verdict: Verdict, study: Study) -> list[str]:
    """Say what decided a claim, a part each, of several settings with its own; what these say alike is said once."""
    has_parts = len({row.setting for row in verdict.rows}) > 1
    said: dict[str, dict[str, None]] = {}
    for (setting, *_), rows in groupby(verdict.rows, lambda row: row.key):
        said.setdefault(contrast_words(list(rows), study.title_of), {})[setting] = None
    return [
        f"{' and '.join(map(study.setting_title, settings))}: {words}" if has_parts else words
        for words, settings in said.items()
    ]


def among_words(outcome: str, p: float, adjusted: float, n_claims: int) -> str:
    """Say that a verdict is sure by itself and not among the primary claims of its paper."""
    return (
        f"By its own interval it {outcome} (p {p_value(p)}). Adjusted over the paper's {n_claims} primary claims "
        f"(Holm), p is {p_value(adjusted)}."
    )


def gate_words(claim: Claim, verdict: Verdict, study: Study) -> str:
    """Say why a claim is not decided, in one sentence; "" where its predicate decided."""
    if verdict.reason is Reason.PROTOCOL:
        return f"It is about another protocol: {claim.protocol}."
    if verdict.reason is Reason.NO_INTERVAL and verdict.rows:
        return "Its numbers have no interval here."
    if verdict.reason is Reason.LIMIT:
        ended: dict[tuple[str, str], dict[str, None]] = {}
        for row in verdict.rows:
            for side, limit in row.codes:
                if limit in claim.limits:
                    ended.setdefault((limit, row.setting), {})[study.title_of(side)] = None
        said = [
            f"{' and '.join(names)} {LIMITS[limit]} ({study.setting_title(setting)})"
            for (limit, setting), names in ended.items()
        ]
        return f"{'; '.join(said)}."
    if verdict.reason is Reason.NOT_RUN and not verdict.rows:
        return study.not_run or not_run_words(claim, study)
    return ""


def not_run_words(claim: Claim, study: Study) -> str:
    """Say which methods of a claim were not run, or that none of its parts was."""
    names = dict.fromkeys(name for part in claim.contrasts for name in (*part.first, *part.second))
    groups = zip(names, methods_of(claim, study), strict=False)
    missing = [name for name, methods in groups if not any(map(study.was_run, methods))]
    return f"{' and '.join(map(study.title_of, missing))} not run." if missing else "None of its parts was run."


def predicate_words(claim: Claim) -> str:
    """Say what a claim's predicate asks, with its bounds."""
    if claim.predicate == "at_every_k":
        return (
            "Holds if the first is higher at every k, and by its 95% interval on average over k; fails if it is lower "
            "at one k, with p below 0.05 after Holm's adjustment over k, or on average."
        )
    low, high = (claim.parameters.get(end, math.nan) for end in ("low", "high"))
    least, most = (signed(f"{end:g}") for end in (low, high))
    bounds = f"above {least}" if math.isnan(high) else f"between {least} and {most}"
    if math.isnan(low):
        bounds = f"below {most}"
    return f"Holds if every 95% interval lies {bounds}; fails if one lies beyond, with p times their number below 0.05."


def sentence(words: str) -> str:
    """Return words, such as why something was not run, as a sentence; what ends in a full stop is one."""
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}." if words else ""


def counts_words(rows: Iterable[Mapping[str, str]]) -> str:
    """Say how many primary claims, of rows of results/claims.csv, have each outcome; "" without any."""
    primary = [row for row in rows if row["primary"]]
    counts = (f"{outcome} {sum(row['verdict'] == outcome for row in primary)}" for outcome in OUTCOMES)
    return f"The papers' {len(primary)} primary claims: {', '.join(counts)}." if primary else ""


def headline(study: Study) -> str:
    """Return the main numbers as a small table, with what has to be known of them."""
    if study.not_run:
        return f"{study.title}: {study.not_run}\n"
    what, columns, rows, sentences = study.main_numbers()
    grid = [("", *columns), *((f"  {study.title_of(method)}", *cells) for method, cells in rows.items())]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in grid]
    lost = (
        [f"{STAR} marks what did not end within its time limit."]
        if any(STAR in cells for cells in rows.values())
        else []
    )
    sentences = [" ".join([*lost, *sentences[:1]]), *sentences[1:]]
    wrapped = [line for sentence in sentences for line in textwrap.wrap(sentence, WIDTH)]
    return "\n".join([f"{study.title}: {what}", *lines, *wrapped]) + "\n"
