"""Claims of the papers: rows of claims.csv, each a predicate over contrasts that answers with an outcome and its rows.

The contrasts that a claim names (``map: oasis - mcml, lego``) decide it by their 95% intervals; a number without one
decides nothing. A study's job tests each claim by itself (`claim_records`); then one job decides a paper's primary
claims together (`decided`), and all that tells of claims reads its table, results/claims.csv.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.tables import read_cells
from lookalike.exhibits import words
from lookalike.exhibits.contrasts import GRID, ITERATIONS, NO_RESULT, NOT_RUN, SEEDS, STEPS, TIME, TRAINING, Contrast
from lookalike.exhibits.printed import p_value
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome
from lookalike.exhibits.tables import markdown, sheets_of_records

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study

LEVEL = 0.05
"""A p-value below it is small, and intervals are of 1 minus it."""
LOST = {"folds": 1, "jackknife over classes": 1, "landmarks": 1, "seeds": 1}
"""Intervals that are of a t distribution to how many degrees of freedom fewer than repeats it has."""
ABSENT = f":{NOT_RUN}"
"""Limit of a row that stands for a contrast that there is not, though its methods were run."""
LIMITS = {
    ITERATIONS: "stopped at its limit of iterations",
    TIME: "ran into its time limit",
    STEPS: "chose the last traced step",
    GRID: "chose an end of its grid",
    TRAINING: "still learned when its training ended",
    SEEDS: "had fewer than three seeds",
}
"""What a method did that a limit of ours ended."""
COLUMNS = (
    *("id", "paper", "place", "exhibit", "claim", "primary", "seen", "dataset", "title", "data"),
    *("verdict", "tried", "untried", "reason", "p", "p_adjusted", "evidence", "further", "rows", "decided_by"),
)
"""Columns of results/claims.csv, all of them text.

``primary`` is "yes" in the one row that decides a primary claim (in the table of one run, of every claim that some run
decides), and ``seen`` what had been seen of it before. ``title`` and ``data`` say on which data it was tested, and over
how many repeats; ``tried`` and ``untried`` name parts of a study. ``reason`` is "" where the predicate decided, else
``not run``, ``protocol``, ``limit``, ``no interval``, or ``not sure among others``. ``p`` says how sure a verdict is by
itself, ``p_adjusted`` among the primary claims of its paper (Holm). ``evidence`` is what decided; ``further`` is a JSON
list of what stands beside it, and ``rows`` one of the differences behind a verdict, as
`lookalike.exhibits.words.differences` gives them."""
HEADS = {name: name for name in ("paper", "place", "claim", "title", "verdict", "p_adjusted", "evidence")}
"""Columns of claims.md, and their heads."""
HEADS |= {"title": "run", "p_adjusted": "p, adjusted"}


class Pairs(NamedTuple):
    """Contrasts that a claim is about: a metric, and names of methods or of roles that methods have in a study."""

    metric: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    """Empty where the claim is about levels of the first."""
    is_optional: bool = False
    """Whether the claim does without it where it was not measured."""


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv."""

    id: str
    paper: str
    place: str
    exhibit: str
    text: str
    study: str
    settings: tuple[str, ...]
    contrasts: tuple[Pairs, ...]
    predicate: str
    parameters: Mapping[str, Any]
    limits: tuple[str, ...]
    protocol: str
    run: tuple[str, ...]
    """Data sets of which the first that was run decides it, where it is a primary claim."""
    seen: str
    """What had been seen of the answer when it became a primary claim."""


class Scope(NamedTuple):
    """The parts of a study that a claim is about."""

    settings: Sequence[str]
    """From small to large."""
    absent: Sequence[str] = ()
    """Printed settings of the claim that were not run, or have not what it is about."""


NOWHERE = Scope(())


@dataclass(frozen=True)
class Verdict:
    """What a claim's contrasts say of it, or one of them."""

    outcome: Outcome
    rows: tuple[Contrast, ...] = ()
    """The rows behind it, those that decided first."""
    p: float = math.nan
    """The smallest level of intervals at which it comes out so; NaN where it is open."""
    reason: str = ""
    why: str = ""
    """Why its predicate did not decide, in a sentence; "" where it did, or its rows say so."""
    scope: Scope = NOWHERE


Group = list[Contrast]
"""Every interval of one contrast."""


def claims_of(rows: Iterable[Mapping[str, str]]) -> list[Claim]:
    """Return the claims in rows of claims.csv, whose values are text."""
    found = []
    for row in rows:
        parts: dict[str, Any] = {**row, "contrasts": tuple(map(read_pairs, filter(None, row["contrasts"].split(";"))))}
        for name in ("settings", "limits", "run"):
            parts[name] = tuple(part for part in row[name].split(";") if part)
        found.append(Claim(**{**parts, "parameters": json.loads(row["parameters"] or "{}")}))
    return found


def read_pairs(text: str) -> Pairs:
    """Read ``metric: first, first - second, second``; ``metric?: ...`` is left out where there is none."""
    metric, _, names = text.partition(": ")
    firsts, _, seconds = names.partition(" - ")
    first, second = (tuple(filter(None, map(str.strip, names.split(",")))) for names in (firsts, seconds))
    return Pairs(metric.replace("?", "").strip(), first, second, "?" in metric)


# On one study ---------------------------------------------------------------------------------------------------------


def decide(claim: Claim, study: Study) -> Verdict:
    """Decide a claim on a study by its predicate, unless it was not run or this run cannot tell."""
    if claim.predicate not in PREDICATES:
        raise LookalikeError(f"claim {claim.id}: there is no predicate {claim.predicate!r}")
    names = dict.fromkeys(
        name for part in claim.contrasts if not part.is_optional for name in (*part.first, *part.second)
    )
    missing = [study.title_of(name) for name in names if not any(map(study.was_run, study.role(name)))]
    if study.not_run or missing:
        why = study.not_run or f"{' and '.join(missing)} not run."
        return Verdict(Outcome.NOT_RUN, reason="not run", why=why)
    scope = study.scope_of(claim)
    ask = partial(PREDICATES[claim.predicate], **claim.parameters)
    groups = [group for setting in scope.settings for group in groups_in(claim, study, setting)]
    found = replace(together(groups, ask), scope=scope)
    if found.outcome is Outcome.LEFT_OUT:
        found = replace(found, outcome=Outcome.OPEN)
    if found.outcome is Outcome.NOT_RUN:
        return replace(found, reason="not run", why="" if found.rows else "None of its parts was run.")
    is_other = bool(claim.protocol) and not study.follows_protocol()
    decides = found.outcome is Outcome.OPEN or any(row.has_interval for row in found.rows)
    for reason, why in (
        ("protocol", f"It is about another protocol: {claim.protocol}." * is_other),
        ("limit", limit_words(claim, found.rows, study)),
        ("no interval", "" if decides else "Its numbers have no interval here."),
    ):
        if why:
            return replace(found, outcome=Outcome.OPEN, p=math.nan, reason=reason, why=why)
    return found


def limit_words(claim: Claim, rows: Iterable[Contrast], study: Study) -> str:
    """Say which limits ended the methods of a claim that it cannot be decided with; "" where none did."""
    ended: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for method, limit in row.codes:
            if limit in claim.limits:
                ended.setdefault((limit, row.setting), {})[study.title_of(method)] = None
    said = (
        f"{' and '.join(names)} {LIMITS[limit]} ({study.setting_title(setting)})"
        for (limit, setting), names in ended.items()
    )
    return f"{'; '.join(said)}." if ended else ""


def groups_in(claim: Claim, study: Study, setting: str) -> list[Group]:
    """Return the rows of each contrast of a claim on a setting; one without a number stands for what there is not."""
    groups = list[Group]()
    for part in claim.contrasts:
        sides = (part.first, part.second or ("",))
        for first, second in product(*([method for name in names for method in study.role(name)] for names in sides)):
            methods = [method for method in (first, second) if method and not study.was_run(method, setting)]
            limits = ";".join(f"{method}:{NOT_RUN}" for method in methods) or ABSENT
            rows = study.contrasts.intervals(setting, part.metric, first, second)
            rows = rows or [Contrast(setting, part.metric, first, second, limits=limits)]
            if first != second and not (part.is_optional and math.isnan(rows[0].mean)):
                groups.append(rows)
    if all(NOT_RUN in row.limits for group in groups for row in group):
        return groups
    # where a setting has some of the contrasts, the others are not known
    return [[replace(row, limits="") if row.limits == ABSENT else row for row in group] for group in groups]


def together(groups: Sequence[Group], ask: Callable[[Group], Verdict]) -> Verdict:
    """It holds if all do, fails if one does, else is open; what was left out or not run counts only alone.

    It holds with the largest p. One contrast of several is against it by chance more often than a single one: it fails
    if the smallest p, times their number, is small.
    """
    answers = [unknown(group) or ask(group) for group in groups]
    against = [answer.p for answer in answers if answer.outcome is Outcome.FAILS]
    n_known = sum(answer.outcome not in (Outcome.LEFT_OUT, Outcome.NOT_RUN) for answer in answers)
    if against and n_known * min(against) >= LEVEL:
        answers = [Verdict(Outcome.OPEN) if answer.outcome is Outcome.FAILS else answer for answer in answers]
    outcomes = [answer.outcome for answer in answers]
    order = (Outcome.FAILS, Outcome.OPEN, Outcome.HOLDS, Outcome.LEFT_OUT, Outcome.NOT_RUN)
    outcome = next((outcome for outcome in order if outcome in outcomes), Outcome.NOT_RUN)
    levels = [answer.p for answer in answers if answer.outcome is outcome]
    p = max(levels) if outcome is Outcome.HOLDS else n_known * min(levels) if outcome is Outcome.FAILS else math.nan
    # those that decided come first
    ordered = sorted(zip(groups, outcomes, strict=True), key=lambda pair: pair[1] is not outcome)
    return Verdict(outcome, tuple(row for group, _ in ordered for row in group), p)


def unknown(group: Group) -> Verdict | None:
    """Say of a contrast without a number that a fit did not end, that it was not run, or nothing."""
    absent = [{limit for _, limit in row.codes} for row in group if math.isnan(row.mean)]
    if not absent:
        return None
    if any(NO_RESULT in limits for limits in absent):
        return Verdict(Outcome.LEFT_OUT)
    return Verdict(Outcome.NOT_RUN if all(NOT_RUN in limits for limits in absent) else Outcome.OPEN)


def p_at(row: Contrast, bound: float) -> float:
    """Return the two-sided p-value of a mean that is the bound, by the t or normal distribution of a row's interval."""
    # heavy, and every plan imports this module
    from scipy import special

    if math.isinf(bound) or not row.has_interval:
        return 0.0
    if bound == 0 and not math.isnan(row.p):
        return row.p
    mean, near, at = row.mean, row.low if bound < row.mean else row.high, bound
    if mean == near:
        return float(mean == at)
    freedom = row.n - LOST.get(row.interval, row.n)
    reach = special.stdtrit(freedom, 1 - LEVEL / 2) if freedom > 0 else special.ndtri(1 - LEVEL / 2)
    errors = -abs(mean - at) * reach / abs(near - mean)
    return float(2 * (special.stdtr(freedom, errors) if freedom > 0 else special.ndtr(errors)))


def within(group: Group, low: float = -math.inf, high: float = math.inf) -> Verdict:
    """Holds if every 95% interval lies within the bounds, fails if all lie beyond; at a bound is not within it."""
    if any(math.isnan(row.low + row.high) for row in group):
        return Verdict(Outcome.OPEN)
    below, above = (max(p_at(row, bound) for row in group) for bound in (low, high))
    for outcome, is_so, p in (
        (Outcome.HOLDS, all(low < row.low and row.high < high for row in group), max(below, above)),
        (Outcome.FAILS, all(row.high <= low for row in group), below),
        (Outcome.FAILS, all(row.low >= high for row in group), above),
    ):
        if is_so and p < LEVEL:
            return Verdict(outcome, p=p)
    return Verdict(Outcome.OPEN)


def at_every_k(group: Group) -> Verdict:
    """Holds if the first is higher at every k, and on average for sure; fails if it is lower for sure at one, or so."""
    average, *single = group
    lower = [row.p for row in single if row.mean < 0 and row.p < LEVEL] + [average.p] * (average.high < 0)
    if lower:
        return Verdict(Outcome.FAILS, p=min(lower))
    is_higher = average.low > 0 and all(row.mean > 0 for row in single)
    return Verdict(Outcome.HOLDS, p=average.p) if is_higher else Verdict(Outcome.OPEN)


PREDICATES: dict[str, Callable[..., Verdict]] = {predicate.__name__: predicate for predicate in (within, at_every_k)}
"""What asks one contrast, by all of its intervals."""


def claim_records(study: Study) -> pd.DataFrame:
    """Return every claim of a study by itself; none where it was not run, or where code made what it would rest on."""
    is_evidence = study.has("contrasts") and not (study.not_run or study.synthetic or study.simulated)
    records = [_record(study, claim) for claim in claims_of(study.claim_rows)] if is_evidence else []
    return pd.DataFrame(records, columns=list(COLUMNS), dtype=str)


def _record(study: Study, claim: Claim) -> dict[str, str]:
    """Test a claim on a study, and say what came of it."""
    verdict = decide(claim, study)
    evidence, *further = [*filter(None, [verdict.why, *words.evidence(verdict, study)])] or [""]
    return dict.fromkeys(COLUMNS, "") | {
        **_about(claim),
        "primary": "yes" if claim.run else "",
        "dataset": study.dataset,
        "title": study.title,
        "data": study.data_sentence(None),
        "verdict": verdict.outcome,
        **dict(zip(("tried", "untried"), words.tried_on(verdict, study), strict=True)),
        "reason": verdict.reason,
        "p": "" if math.isnan(verdict.p) else repr(verdict.p),
        "evidence": evidence,
        "further": json.dumps(further, ensure_ascii=False),
        "rows": json.dumps(words.differences(verdict, study), ensure_ascii=False),
        "decided_by": words.predicate_words(claim),
    }


def _about(claim: Claim) -> dict[str, str]:
    """Return what claims.csv says of a claim."""
    return {**{name: getattr(claim, name) for name in ("id", "paper", "place", "exhibit", "seen")}, "claim": claim.text}


# All together ---------------------------------------------------------------------------------------------------------


def decided(
    tested: Iterable[pd.DataFrame],
    kept: Iterable[pd.DataFrame],
    claims: Sequence[Claim],
    command_of: Callable[[str], str],
) -> pd.DataFrame:
    """Decide the papers' claims: the primary ones first, each by one run, then all others on every data set at hand.

    A primary claim is decided by the first of its runs that is at hand, in the results or as it was kept; of one that
    is not, the row has the command that makes it. Their p-values are adjusted over those of a paper (Holm): what is
    sure by itself and not among them is undecided.
    """
    found, at_hand = _by_run(tested), _by_run(kept)
    at_hand |= found
    primary = []
    for claim in (claim for claim in claims if claim.run):
        rows = (at_hand.get((run, claim.id), {"verdict": Outcome.NOT_RUN}) for run in claim.run)
        absent = {"dataset": claim.run[0], "title": claim.run[0], "verdict": Outcome.NOT_RUN, "reason": "not run"}
        absent |= {"evidence": f"Not run: {command_of(claim.run[0])}", "further": "[]", "rows": "[]"}
        absent["decided_by"] = words.predicate_words(claim)
        row = next((row for row in rows if row["verdict"] != Outcome.NOT_RUN), absent)
        primary.append({**dict.fromkeys(COLUMNS, ""), **row, **_about(claim), "primary": "yes"})
    for paper in dict.fromkeys(claim.paper for claim in claims):
        _adjust([row for row in primary if row["paper"] == paper and row["verdict"] != Outcome.NOT_RUN])
    decides = {(row["dataset"], row["id"]) for row in primary}
    others = [row | {"primary": ""} for key, row in found.items() if key not in decides]
    return pd.DataFrame([*primary, *others], columns=list(COLUMNS), dtype=str)


def _by_run(tables: Iterable[pd.DataFrame]) -> dict[tuple[str, str], dict[str, str]]:
    """Return the rows of tables by data set and claim."""
    rows = (
        {str(name): str(cell) for name, cell in row.items()} for table in tables for row in table.to_dict("records")
    )
    return {(row["dataset"], row["id"]): row for row in rows}


def _adjust(rows: list[dict[str, str]]) -> None:
    """Adjust the p-values of the primary claims of a paper; what is undecided by itself has none and counts as 1."""
    # heavy, and every plan imports this module
    from lookalike.ranking.comparison import holm

    for row, p in zip(rows, holm([float(row["p"] or 1) for row in rows]), strict=True):
        if row["p"]:
            row["p_adjusted"] = repr(float(p))
            if p >= LEVEL:
                row["further"] = json.dumps([row["evidence"], *json.loads(row["further"])], ensure_ascii=False)
                own, adjusted = p_value(float(row["p"])), p_value(p)
                row["evidence"] = (
                    f"By its own interval it {row['verdict']} (p {own}). Adjusted over the paper's {len(rows)} primary "
                    f"claims (Holm), p is {adjusted}."
                )
                row |= {"verdict": Outcome.OPEN, "reason": "not sure among others"}


def read_claims(path: Path) -> list[dict[str, str]]:
    """Read the rows of results/claims.csv, or of the verdicts of a kept run; none where there is no such table."""
    rows = read_cells(path, COLUMNS, exact=True).to_dict("records") if path.is_file() else []
    return [{str(name): str(cell) for name, cell in row.items()} for row in rows]


def claims_markdown(frame: pd.DataFrame) -> str:
    """Return the decided claims as a page of Markdown: the primary ones, then the others, with what decided each."""
    parts = ["# Claims of the papers", words.counts_words(_by_run([frame]).values())]
    cells = frame.assign(p_adjusted=[f"{float(p):.2g}" if p else "" for p in frame["p_adjusted"]])
    for is_primary, title in (("yes", "Primary claims"), ("", "Further claims, each by its own 95% intervals")):
        own = cells[cells["primary"] == is_primary]
        if len(own):
            titles = {"paper": {id: paper.short for id, paper in PAPERS.items()}}
            parts += [f"## {title}", markdown(sheets_of_records(own, HEADS, titles))]
    return "\n\n".join(parts) + "\n"
