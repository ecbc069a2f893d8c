"""The papers' claims about Caltech-256, one row each, with the verdict of this study and the figures behind it.

The claims are in ``workflow/resources/claims.csv``, in words of our own; the rule that decides each is a function of
`lookalike.exhibits.claim_rules`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.claim_evidence import BY_T, FAILS, HOLDS, MARGIN, OPEN, Finding, traced_schemes
from lookalike.exhibits.claim_rules import RULES
from lookalike.exhibits.context import Context
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.exhibits.catalogue import Numbers

CLAIM_COLUMNS = ("id", "paper", "settings", "place", "claim", "rule", "note")
"""Columns of claims.csv. ``settings``: printed settings of the subsets that the claim is about, apart by ``;``, none
where it is about no subset; ``note``: why no rule decides it, where none does."""
COLUMNS = ("id", "paper", "place", "claim", "verdict", "evidence", "rule", "decided_by")
"""Columns of the table; ``decided_by``: the first sentence of the rule's own description, "" where no rule decides."""
OF_PROJECTIONS = (
    "projecting_often_slows_the_decline",
    "projecting_rarely_beats_often",
    "projecting_at_the_end_is_best",
)
"""Rules about the curves of JMLR Figure 9, which a study may have traced on other classes alone."""
OTHER_CLASSES = "other classes than the claim's"
SHORT_NAMES = {"oasis-jmlr-2010": "JMLR 2010", "oasis-2009-draft": "draft 2009"}
VERDICTS = (HOLDS, FAILS, OPEN)


def claims_table(numbers: Numbers, context: Context, reference: pd.DataFrame | None = None) -> Table:
    """Every claim with its verdict.

    Parameters
    ----------
    numbers : Numbers
        ``claims`` are those to decide, the other tables what they are decided by; a claim whose tables are None is
        `lookalike.exhibits.claim_evidence.OPEN`.
    context : Context
        A claim is decided on those of its subsets that the claim's paper prints under the claim's settings; a context
        in which no subset has a printed setting is decided on all. Claims about Figure 9 fall back on the subsets whose
        schemes of projection were traced, and the evidence says so.
    reference : DataFrame, optional
        Printed numbers, from `lookalike.exhibits.reference.load`; without them the claims that are anchored to one are
        `lookalike.exhibits.claim_evidence.OPEN`.

    Returns
    -------
    Table
        Frame columns `COLUMNS`, in the order of the claims.

    Raises
    ------
    LookalikeError
        When the claims lack a column, or name a rule that does not exist.
    """
    import pandas as pd

    numbers = numbers if reference is None else replace(numbers, reference=reference)
    records = []
    for claim in _checked(numbers.claims).itertuples():
        finding = decide(claim, numbers, context)
        found = (finding.verdict, finding.evidence, claim.rule, sentence_of(str(claim.rule)))
        records.append((claim.id, claim.paper, claim.place, claim.claim, *found))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    rows = [
        (SHORT_NAMES.get(row.paper, row.paper), row.place, row.claim, row.verdict, row.evidence, row.decided_by)
        for row in _rows(frame)
    ]
    block = Block(("paper", "place", "claim", "verdict", "evidence", "decided by"), tuple(rows))
    made = make_table(frame, [block], numbers=range(0), notice=context.not_run_sentence)
    # sentences have to break: columns of fixed width in a table that may go over pages
    return replace(made, latex=_longtable(made.latex))


def decide(claim: Any, numbers: Numbers, context: Context) -> Finding:
    """Decide one claim.

    Parameters
    ----------
    claim : named tuple
        A row of the claims, with `CLAIM_COLUMNS`.
    numbers : Numbers
    context : Context

    Returns
    -------
    Finding
        ``not run`` where the study was not run.
    """
    if context.not_run_sentence is not None:
        return Finding(NOT_RUN, context.not_run_sentence)
    if not claim.rule:
        return Finding(OPEN, claim.note)
    about = _about(claim, context)
    if about.subsets:
        finding = RULES[claim.rule](numbers, about)
        return finding._replace(evidence=finding.evidence + _not_run(claim, context))
    other = _traced_elsewhere(claim, numbers, context)
    if not other.subsets:
        return Finding(OPEN, "none of the subsets that it is about was run")
    finding = RULES[claim.rule](numbers, other)
    return finding._replace(evidence=f"{OTHER_CLASSES}: {finding.evidence}")


def sentence_of(rule: str) -> str:
    """First sentence of the rule's own description; "" where there is no rule."""
    if not rule:
        return ""
    paragraph = " ".join((RULES[rule].__doc__ or "").partition("\n\n")[0].split())
    sentence = paragraph.partition(". ")[0].rstrip(".")
    return f"{sentence}." if sentence else ""


def verdict_counts(table: Table, context: Context) -> str:
    """Sentences of the caption: how many claims hold, and what verdicts mean."""
    if context.not_run is not None:
        return ""
    counts = table.frame["verdict"].value_counts()
    parts = [f"{verdict}: {int(counts.get(verdict, 0))}" for verdict in VERDICTS]
    return (
        f"Of {len(table.frame)} claims, {', '.join(parts)}. Differences of mAP are in points, with 95% intervals in "
        f"brackets; up to {100 * MARGIN:g} point counts as equal. Of OASIS minus a method the brackets span two "
        "intervals, that of the corrected resampled t-test and that of a bootstrap clustered by image, and p, where "
        f"the verdict needs it, is adjusted by Holm's method;{BY_T}: the interval of that t-test alone, without a "
        "bootstrap beside it, which is the weaker standard. A claim about several subsets holds only if it holds "
        "on all of those that were run; what did not converge or was not traced on a subset is left out. The rules "
        "are in lookalike.exhibits.claim_rules."
    )


def _about(claim: Any, context: Context) -> Context:
    """The context with the subsets alone that a claim is about."""
    if not any(subset.printed for subset in context.subsets):
        return context
    settings = set(claim.settings.split(";"))
    chosen = tuple(subset for subset in context.subsets if subset.printed.get(claim.paper) in settings)
    return replace(context, subsets=chosen)


def _not_run(claim: Any, context: Context) -> str:
    """Which of the subsets that a claim is about were not run."""
    run = {subset.printed.get(claim.paper) for subset in context.subsets}
    if run == {None}:
        return ""
    lacking = [_setting_title(setting) for setting in claim.settings.split(";") if setting and setting not in run]
    return f"; subsets not run: {', '.join(lacking)}" if lacking else ""


def _setting_title(setting: str) -> str:
    """``10 classes`` of ``classes=10``, ``Easy10`` of ``easy10``."""
    name, _, value = setting.partition("=")
    return f"{value} {name}" if value else name.capitalize()


def _traced_elsewhere(claim: Any, numbers: Numbers, context: Context) -> Context:
    """The context with the subsets whose schemes of projection were traced, for a claim about these alone."""
    if claim.rule not in OF_PROJECTIONS:
        return replace(context, subsets=())
    traced = tuple(subset for subset in context.subsets if traced_schemes(numbers, context, subset))
    return replace(context, subsets=traced)


def _checked(claims: pd.DataFrame | None) -> pd.DataFrame:
    """The claims with text in every cell; none where there are none, as where nothing was run."""
    import pandas as pd

    if claims is None:
        return pd.DataFrame(columns=list(CLAIM_COLUMNS))
    missing = [column for column in CLAIM_COLUMNS if column not in claims]
    if missing:
        raise LookalikeError(f"the claims lack the columns {', '.join(missing)}: restore claims.csv")
    text = claims[list(CLAIM_COLUMNS)].fillna("").astype(str)
    unknown = sorted(set(text["rule"]) - set(RULES) - {""})
    if unknown:
        raise LookalikeError(f"no rule decides {', '.join(unknown)}: name one of lookalike.exhibits.claim_rules.RULES")
    return text


def _rows(frame: pd.DataFrame) -> Any:
    return frame.itertuples()


def _longtable(latex: str) -> str:
    widths = (0.07, 0.1, 0.2, 0.09, 0.28, 0.16)
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}" for width in widths)
    return (
        latex.replace(r"% needs \usepackage{booktabs}", r"% needs \usepackage{array,booktabs,longtable}")
        .replace(r"\begin{tabular}{llllll}", rf"\begin{{longtable}}{{{columns}}}")
        .replace(r"\end{tabular}", r"\end{longtable}")
    )
