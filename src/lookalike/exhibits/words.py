"""Sentences of contrasts and verdicts: the only place that makes any."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

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
from lookalike.exhibits.model import Margin
from lookalike.exhibits.printed import p_value, significant
from lookalike.exhibits.statuses import Outcome, Status

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

DIFFERENCE, LEVEL = "{first} minus {second} {gap}", "{first} {gap}"
SAID = {
    "map at stop": "{first} minus {second} {gap} at the validation stop",
    "map at the peak": "peak of {first} minus that of {second} {gap}",
    "map of rankers": "{first} minus {second} {gap}, in the mean over traced steps",
    **{
        f"map of {n} images a class": f"{{first}} minus {{second}} {{gap}} with {n} images a class" for n in (5, 10, 20)
    },
    "decline after the peak": "{first} lost {gap} more of its peak than {second} by the last traced step",
    "symmetry of what was learned": "symmetry index of W minus I {gap}",
    "map of new classes": "{first} minus {second} {gap} on classes that it did not learn from",
    "standard deviation of rankers": "standard deviation over rankers {gap}",
    "colour of filters": "share of colour of {first}'s filters minus that of {second}'s {gap}",
    "colour of filters beyond their start": "shallow filters of {first} gained {gap} of colour over their random start",
    "score@30": "{first} minus {second} {gap} at the top",
    "score@30_per_triplet": "{first} minus {second} {gap} at the top",
    "similarity_precision, in-class negatives": "{first} minus {second} on in-class negatives {gap}",
    "similarity_precision, out-of-class negatives": "{first} minus {second} on out-of-class negatives {gap}",
    "queries that reach the mean rater": "queries that reach the mean rater less 0.05: {first} minus {second} {gap}",
    "queries that reach the lowest rater": "queries that reach the lowest rater: {first} minus {second} {gap}",
    "sparsity": "sparsity of {first} minus that of {second} {gap}",
    "sparsity over codebooks": "sparsity of {first} changes by {gap}",
}
"""Metric to how a row of it is said; `DIFFERENCE` or, of one method alone, `LEVEL` where it is not here."""
SAID_OF_ONE = {
    "decline after the peak": "{first} lost {gap} of its peak by the last traced step",
    "score@30": "{first} {gap} at the top",
    "score@30_per_triplet": "{first} {gap} at the top",
}
"""Metric to how a level of it is said where `SAID` has its difference."""


class Form(NamedTuple):
    """How an amount in a unit is written."""

    size: Callable[[float], str]
    """Writes it without its sign."""
    decimals: int | None = None
    """Where it is rounded; None: to significant digits."""
    has_plus: bool = False


def rounded(decimals: int, *, has_plus: bool = False) -> Form:
    """Return the form of amounts with some decimals."""
    return Form(f"{{:,.{decimals}f}}".format, decimals, has_plus)


AMOUNTS: dict[Unit, Form] = {
    "points": rounded(1, has_plus=True),
    "small points": rounded(2, has_plus=True),
    "percent": Form(lambda value: f"{significant(value)}%"),
    "count": rounded(0),
    "triplets": rounded(0, has_plus=True),
    "% of triplets": rounded(1, has_plus=True),
    "": Form("{:.3g}".format),
}
"""Unit to how an amount is written."""
NAMED: dict[Unit, str] = {"points": " points", "triplets": " triplets", "% of triplets": "% of triplets"}
"""What stands behind an amount and its interval."""
SMALL = 0.5
"""Differences in points below it have two decimals."""
NO_NUMBER = "–"
"""Stands where print has no number, or no order of methods."""
OVER_PARTS = ("sparsity over codebooks",)
"""Metrics of changes from one part to another, which are always named."""
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


def written(value: float, form: Form) -> str:
    """Return a number in a form, with a proper minus and no sign of a zero."""
    is_zero = value == 0 or (form.decimals is not None and round(value, form.decimals) == 0)
    sign = "" if is_zero else "−" if value < 0 else "+" if form.has_plus else ""
    return f"{sign}{form.size(abs(value))}"


def amount(value: float, unit: Unit) -> str:
    """Return a number in its unit."""
    return written(value, AMOUNTS[unit])


def gap(rows: Sequence[Contrast]) -> str:
    """Write a number with the widest of its intervals: ``+1.6 points [−1.1, +4.4]``."""
    row, low, high = rows[0], min(row.low for row in rows), max(row.high for row in rows)
    # small differences have another digit
    is_small = row.unit == "points" and max(abs(row.mean), abs(high - low)) < SMALL
    unit: Unit = "small points" if is_small else row.unit
    said = amount(row.mean, unit)
    if math.isinf(row.mean):
        return "never"
    if math.isfinite(low + high) and low < high:
        said += f"{NAMED.get(row.unit, '')} [{amount(low, unit)}, {amount(high, unit)}]"
    else:
        said += NAMED.get(row.unit, "")
    open_ended = " so far" if math.isinf(low) or math.isinf(high) else ""
    in_print = "" if math.isnan(row.printed) or row.second else f" ({amount(row.printed, row.unit)} in print)"
    return said + open_ended + in_print


def contrast_words(rows: Sequence[Contrast], title_of: Callable[[str], str]) -> str:
    """Tell of all intervals of one contrast, or why it has no number."""
    row = rows[0]
    first, second = title_of(row.first), title_of(row.second)
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
    forms = SAID if row.second else SAID | SAID_OF_ONE
    usual = DIFFERENCE if row.second else LEVEL
    said = forms.get(row.metric, usual).format(first=first, second=second, gap=gap(rows))
    tested = [interval.p for interval in rows if not math.isnan(interval.p)]
    is_gap = row.second and row.unit == "points"
    return f"{said}, p of no difference {p_value(tested[0])}" if tested and is_gap else said


def at_every_k(rows: Sequence[Contrast], first: str, second: str) -> str:
    """Say at how many k the first is more precise, and how sure it is that it is not at the others."""
    average, *single = rows
    lower = [row.p for row in single if row.mean <= 0]
    where = f"at {len(single) - len(lower)} of {len(single)} values of k, on average by {gap([average])}"
    return f"{first} above {second} {where}" + (f", p {p_value(min(lower))} where it is not" if lower else "")


def listed(names: Sequence[str]) -> str:
    """Join names: ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def tried_on(verdict: Verdict, study: Study) -> tuple[str, str]:
    """Name the parts that a claim was tried on, and those of its own that it was not; "" where it is about one."""
    settings = dict.fromkeys((*verdict.scope.settings, *verdict.scope.absent))
    if len(settings) < 2:
        return "", ""
    tried = {row.setting for row in verdict.rows if not math.isnan(row.mean)}
    sides = ([study.setting_title(name) for name in settings if (name in tried) == side] for side in (True, False))
    where, elsewhere = map(listed, sides)
    return (where, elsewhere) if where else ("", "")


def scope_words(verdict: str, tried: str, untried: str) -> str:
    """Say on which parts a claim was tried, and on which of its own not; "" where it has one part."""
    on, not_on = ("on", "not tried on") if verdict in (Outcome.HOLDS, Outcome.FAILS) else ("tried on", "not on")
    return f"{on} {tried}{f', {not_on} {untried}' if untried else ''}" if tried else ""


def names_parts(verdict: Verdict) -> bool:
    """Tell whether numbers behind a verdict stand with the parts of a study that they are of."""
    return len({row.setting for row in verdict.rows}) > 1 or any(row.metric in OVER_PARTS for row in verdict.rows)


def evidence(verdict: Verdict, study: Study) -> list[str]:
    """Say what decided a claim, a part each with its setting; what several settings say alike is said once."""
    said: dict[str, dict[str, None]] = {}
    for (setting, *_), rows in groupby(verdict.rows, lambda row: row.key):
        said.setdefault(contrast_words(list(rows), study.title_of), {})[setting] = None
    return [
        f"{' and '.join(map(study.setting_title, settings))}: {words}" if names_parts(verdict) else words
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


def signed(value: float, unit: Unit = "points") -> str:
    """Write a difference with its sign, such as ``+2.9`` or ``−84``; a dash where there is none."""
    return NO_NUMBER if math.isnan(value) else amount(value, unit)


def printed_words(margin: Margin) -> str:
    """Return the printed difference without digits that are not printed: ``+4``; a dash where none is printed."""
    value, unit = margin.contrast.printed, margin.contrast.unit
    is_whole = not math.isnan(value) and round(value, 1) == round(value)
    return written(value, rounded(0, has_plus=True)) if is_whole else signed(value, unit)


def interval_words(margin: Margin) -> tuple[str, str]:
    """Write ``+2.9`` and ``[+1.0, +4.4]``, which is "" where there is none."""
    row = margin.contrast
    gap, low, high = (signed(value, row.unit) for value in (row.mean, row.low, row.high))
    return gap, "" if NO_NUMBER in (low, high) else f"[{low}, {high}]"


def margin_words(margin: Margin) -> str:
    """Say ``OASIS is 1.7 points above LEGO in mAP [−5.2, +8.7], which may be chance (in the paper +6)``."""
    row, (_, interval), printed = margin.contrast, interval_words(margin), printed_words(margin)
    gap, side = AMOUNTS[row.unit].size(abs(row.mean)), "below" if row.mean < 0 else "above"
    doubt = ", of too few seeds to decide" if margin.is_of_too_few else ", which may be chance"
    parts = (
        f"{margin.method} is {gap} {row.unit} {side} {margin.rival} in {margin.metric}",
        f" {interval}" if interval else "",
        doubt if margin.may_be_chance else "",
        "" if printed == NO_NUMBER else f" (in the paper {printed})",
    )
    return "".join(parts)


def unlike_print(margins: Iterable[Margin], *, is_elsewhere: bool) -> str:
    """Say which differences in points have the printed one outside of their intervals; "" where none has."""
    in_points = [(margin, margin.contrast) for margin in margins if margin.contrast.unit == "points"]
    apart: dict[str, list[Margin]] = {"Unlike": [], "Smaller than": [], "Larger than": []}
    for margin, row in in_points:
        # a comparison with NaN is false
        if row.printed < row.low or row.high < row.printed:
            is_smaller = abs(row.mean) < abs(row.printed)
            how = "Unlike" if row.mean * row.printed < 0 else "Smaller than" if is_smaller else "Larger than"
            apart[how].append(margin)
    where = ", which is of other data" if is_elsewhere else ""
    return " ".join(
        f"{how} in print{where}: {'; '.join(map(margin_words, there))}." for how, there in apart.items() if there
    )


def level_words(margin: Margin, *, is_printed: bool) -> tuple[str, str]:
    """Write what each of both methods reaches, ``24.1%``; in print, "" where no number is printed."""
    levels = margin.printed_levels if is_printed else margin.levels
    form = "{:,.0f}" if margin.contrast.unit == "triplets" else "{:g}%" if is_printed else "{:.1f}%"
    first, second = ("" if math.isnan(level) else form.format(level) for level in levels)
    return first, second


def margin_sentences(margin: Margin) -> list[str]:
    """Say which method is best, as in the paper or not, and how many pairs come in its order; a sentence each.

    It names the interval of a difference and no verdict: claims alone have verdicts. Of too few seeds it says
    that alone.
    """
    if margin.is_of_too_few:
        return [f"{margin.method} had too few seeds to say which method is best."]
    best, row, first = f"{margin.best} has the highest {margin.metric}", margin.contrast, margin.printed_best
    if first:
        best += ", as in the paper" if first == margin.best else f" (in the paper {first} has it)"
    if margin.best in (margin.method, margin.other):
        # a third method may come between them, so the interval is told of the other one alone
        turn, second = (1, margin.other) if margin.best == margin.method else (-1, margin.method)
        low, high = (signed(end, row.unit) for end in sorted((turn * row.low, turn * row.high)))
        interval = "has no interval" if NO_NUMBER in (low, high) else f"is {low} to {high} {row.unit} (95% interval)"
        best += f"; its lead over {second} {interval}"
    n_same, n_pairs = margin.in_order
    order = f"{n_same} of the {n_pairs} pairs of methods that both have come in the paper's order."
    return [f"{best}.", *[order] * bool(n_pairs)]


def predicate_words(claim: Claim) -> str:
    """Say what a claim's predicate asks, with its bounds."""
    if claim.predicate == "at_every_k":
        return (
            "Holds if the first is higher at every k, and by its 95% interval on average over k; fails if it is lower "
            "at one k, with p below 0.05 after Holm's adjustment over k, or on average."
        )
    low, high = (claim.parameters.get(end, math.nan) for end in ("low", "high"))
    least, most = (written(end, Form("{:g}".format)) for end in (low, high))
    bounds = f"above {least}" if math.isnan(high) else f"between {least} and {most}"
    if math.isnan(low):
        bounds = f"below {most}"
    return f"Holds if every 95% interval lies {bounds}; fails if one lies beyond, with p times their number below 0.05."


def sentence(words: str) -> str:
    """Return words, such as why something was not run, as a sentence; what ends in a full stop is one."""
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}." if words else ""


def status_counts(statuses: Mapping[Status, int]) -> str:
    """Say how many numbers have each status, such as ``12 agree, 3 higher``."""
    return ", ".join(
        f"{n} {'agree' if status is Status.AGREES and n > 1 else status}" for status, n in statuses.items()
    )


def counts_words(rows: Iterable[Mapping[str, str]]) -> str:
    """Say how many primary claims, of rows of results/claims.csv, have each outcome; "" without any."""
    primary = [row for row in rows if row["primary"]]
    counts = (f"{outcome} {sum(row['verdict'] == outcome for row in primary)}" for outcome in OUTCOMES)
    return f"The papers' {len(primary)} primary claims: {', '.join(counts)}." if primary else ""
