"""Sentences of contrasts and verdicts: the only place that makes any."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.contrasts import NO_RESULT, NOT_RUN, TOO_FEW, Contrast, Unit, widest
from lookalike.exhibits.printed import p_value, significant
from lookalike.exhibits.statuses import Outcome

if TYPE_CHECKING:
    from lookalike.exhibits.claims import Claim, Verdict
    from lookalike.exhibits.study import Study

METRICS = {"map_full": "mAP", "p@k": "precision at top k", "similarity_precision": "precision"}
"""Metrics that are called otherwise in sentences; any other is called as it is, with spaces."""
AMOUNTS: dict[Unit, tuple[str, str]] = {
    "points": ("{:+,.1f}", " points"),
    "small points": ("{:+,.2f}", " points"),
    "percent": ("{}%", ""),
    "count": ("{:,.0f}", ""),
    "triplets": ("{:+,.0f}", " triplets"),
    "% of triplets": ("{:+,.1f}", "% of triplets"),
    "": ("{:.3g}", ""),
}
"""Unit to how an amount is written, and what stands behind it in a sentence."""
SMALL = 0.5
"""Differences in points below it have two decimals."""
NO_NUMBER = "–"
"""Stands where print has no number, or no order of methods."""


def signed(text: str) -> str:
    """Return a number with a proper minus, and no sign of a zero."""
    return re.sub("^-", "−", text) if re.search("[1-9]", text) else text.lstrip("+-")


def amount(value: float, unit: Unit) -> str:
    """Return a number in its unit; percents have two significant digits."""
    return signed(AMOUNTS[unit][0].format(significant(value) if unit == "percent" else value))


def listed(names: Sequence[str]) -> str:
    """Join names: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def sentence(words: str) -> str:
    """Return words, such as why something was not run, as a sentence; what ends in a full stop is one."""
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}." if words else ""


def metric_words(metric: str) -> str:
    """Name a metric in a sentence."""
    return METRICS.get(metric, re.sub(r"^map\b", "mAP", metric.replace("_", " ")))


# Contrasts ------------------------------------------------------------------------------------------------------------


def gap(rows: Sequence[Contrast], *, has_unit: bool = True) -> str:
    """Write a number with the widest of its intervals: ``+1.6 points [−1.1, +4.4]``."""
    row = widest(rows)
    unit = _unit(row)
    interval = f" [{amount(row.low, unit)}, {amount(row.high, unit)}]" if row.has_width else ""
    return f"{amount(row.mean, unit)}{AMOUNTS[unit][1] * has_unit}{interval}"


def _unit(row: Contrast) -> Unit:
    """Return the unit of a number; small differences have another digit."""
    return "small points" if row.unit == "points" and max(abs(row.mean), abs(row.high - row.low)) < SMALL else row.unit


def difference_words(first: str, second: str, metric: str, row: Contrast, printed: str = "") -> str:
    """Say ``OASIS is 2.4 points higher than LEGO in mAP (95% interval 0.6 to 4.1; the paper: 4)``.

    Without a `second` it is a level: ``sparsity of S-TG: 12.0 (95% interval 8.0 to 16.0)``.
    """
    unit = _unit(row)
    mean, least, most, zero = (amount(value, unit).lstrip("+") for value in (row.mean, row.low, row.high, 0.0))
    beside = [f"95% interval {least} to {most}"] * row.has_width + [f"the paper: {printed}"] * bool(printed)
    behind = " so far" * row.is_left_open + (f" ({'; '.join(beside)})" if beside else "")
    if not second:
        return f"{metric} of {first}: {mean}{AMOUNTS[unit][1]}{behind}"
    if mean == zero:
        return f"{first} and {second} differ by {zero}{AMOUNTS[unit][1]} in {metric}{behind}"
    way = "lower" if row.mean < 0 else "higher"
    return f"{first} is {mean.lstrip('−')}{AMOUNTS[unit][1]} {way} than {second} in {metric}{behind}"


def contrast_words(rows: Sequence[Contrast], title_of: Callable[[str], str]) -> str:
    """Tell of all intervals of one contrast, or why it has no number."""
    row = widest(rows)
    if any(math.isnan(interval.mean) for interval in rows):
        reasons = {NO_RESULT: "{} did not end within the time limit", TOO_FEW: f"{{}}: too few {row.interval}"}
        for limit, said in (reasons | {NOT_RUN: "{} not run"}).items():
            if names := [title_of(method) for method, code in row.codes if code == limit and method]:
                return said.format(" and ".join(names))
        return f"no {row.metric} here"
    first, second = title_of(row.first), title_of(row.second) if row.second else ""
    if row.metric == "p@k" and len(rows) > 1:
        # the first is the average over k
        lower = [at_k.p for at_k in rows[1:] if at_k.mean <= 0]
        mean = difference_words(first, second, "precision on average over k", rows[0])
        where = f"; it is higher at {len(rows) - 1 - len(lower)} of {len(rows) - 1} values of k"
        return mean + where + (f", p {p_value(min(lower))} where it is not" if lower else "")
    said = difference_words(first, second, metric_words(row.metric), row, _printed(row))
    tested = [interval.p for interval in rows if not math.isnan(interval.p)]
    return f"{said}, p {p_value(tested[0])}" if tested and second and row.unit == "points" else said


def _printed(row: Contrast) -> str:
    """Return the printed difference without digits that are not printed; "" of none."""
    if math.isnan(row.printed):
        return ""
    is_whole = round(row.printed, 1) == round(row.printed)
    return signed(f"{row.printed:,.0f}") if is_whole else amount(row.printed, row.unit).lstrip("+")


# Verdicts -------------------------------------------------------------------------------------------------------------


def differences(verdict: Verdict, study: Study) -> list[dict[str, Any]]:
    """Return each difference behind a verdict, with the widest of its intervals and the paper's, as pages show it."""
    found = []
    for key, group in groupby(verdict.rows, lambda row: row.key):
        rows = list(group)
        # of precision at k the first is the average over k
        row = widest(rows[:1] if key[1] == "p@k" else rows)
        if row.second and not math.isnan(row.mean):
            numbers = {name: getattr(row, name) for name in ("mean", "low", "high", "printed")}
            about = {
                "key": key,
                "setting": study.part_title(row.setting) if row.setting else "",
                "names": f"{study.title_of(row.first)} − {study.title_of(row.second)}",
                "metric": metric_words(row.metric),
                "here": gap([row], has_unit=row.unit != "points") + " so far" * row.is_left_open,
                "paper": f"{'+' * (row.printed > 0)}{_printed(row)}" or NO_NUMBER,
                "unit": row.unit,
            }
            found.append(about | {name: value if math.isfinite(value) else None for name, value in numbers.items()})
    return found


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


def tried_on(verdict: Verdict, study: Study) -> tuple[str, str]:
    """Name the parts that a claim was tried on, and those of its own that it was not; "" where it is about one."""
    settings = dict.fromkeys((*verdict.scope.settings, *verdict.scope.absent))
    tried = {row.setting for row in verdict.rows if not math.isnan(row.mean)} & settings.keys()
    if len(settings) < 2 or not tried:
        return "", ""
    on, not_on = ([name for name in settings if (name in tried) is side] for side in (True, False))
    return listed([*map(study.setting_title, on)]), listed([*map(study.setting_title, not_on)])


def scope_words(verdict: str, tried: str, untried: str) -> str:
    """Say on which parts a claim was tried, and on which of its own not; "" where it has one part."""
    on, not_on = ("on", "not tried on") if verdict in (Outcome.HOLDS, Outcome.FAILS) else ("tried on", "not on")
    return f"{on} {tried}{f', {not_on} {untried}' if untried else ''}" if tried else ""


def predicate_words(claim: Claim) -> str:
    """Say what a claim's predicate asks, with its bounds."""
    if claim.predicate == "at_every_k":
        return (
            "Holds if the first is higher at every k, and by its 95% interval on average over k; fails if it is lower "
            "at one k, with p below 0.05 after Holm's adjustment over k, or on average."
        )
    low, high = (signed(f"{claim.parameters[end]:g}") if end in claim.parameters else "" for end in ("low", "high"))
    bounds = f"between {low} and {high}" if low and high else f"above {low}" if low else f"below {high}"
    return f"Holds if every 95% interval lies {bounds}; fails if one lies beyond, with p times their number below 0.05."


def counts_words(rows: Iterable[Mapping[str, str]]) -> str:
    """Say how many primary claims, of rows of results/claims.csv, have each outcome; "" without any."""
    primary = [row for row in rows if row["primary"]]
    outcomes = {
        Outcome.HOLDS: "hold",
        Outcome.FAILS: "do not hold",
        Outcome.OPEN: "undecided",
        Outcome.NOT_RUN: "not run",
    }
    counts = (f"{sum(row['verdict'] == outcome for row in primary)} {many}" for outcome, many in outcomes.items())
    return f"The papers' {len(primary)} primary claims: {', '.join(counts)}." if primary else ""
