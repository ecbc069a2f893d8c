"""The claims of the landmark study's paper (SOML, AAAI 2014), each with a verdict for every codebook.

The claims are in ``workflow/resources/landmark-claims.csv``, in words of our own; the rules that decide them are here,
and what they stand on is in `lookalike.exhibits.landmark_evidence`. Beside each verdict, which asks whether other
landmarks would agree, stands what the means say by themselves, of our numbers and of those that the paper prints.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.claim_evidence import FAILS, HOLDS, OPEN, Finding
from lookalike.exhibits.landmark_context import LANDMARKS, PRINTED_CODEBOOKS, Codebook, LandmarkContext
from lookalike.exhibits.landmark_evidence import (
    NOT_ON_AVERAGE,
    ON_AVERAGE,
    Decision,
    Study,
    all_of,
    decided,
    did_not_end,
    difference,
    growth,
    missing,
    of_pairs,
    outlasts,
    printed_study,
    rows_of,
)
from lookalike.exhibits.landmark_tables import MAP, SPARSITY, values_of
from lookalike.exhibits.runtime import TRAIN_TIME
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table

if TYPE_CHECKING:
    import pandas as pd

CLAIM_COLUMNS = ("id", "place", "claim", "rule")
"""Columns of landmark-claims.csv."""
COLUMNS = (
    "id",
    "place",
    "claim",
    "representation",
    "verdict",
    "evidence",
    "on_average",
    "printed_on_average",
    "printed_verdict",
    "printed_evidence",
    "rule",
    "decided_by",
)
"""Columns of the table; ``representation`` is "" for a claim about all codebooks at once."""
HEADER = ("place", "claim", "words", "verdict", "evidence", "our means", "printed means", "decided by")
VERDICTS = (HOLDS, FAILS, OPEN)
MARGIN = 1.0
"""Differences of mean average precision up to this are none in practice, in points."""
SLIGHT = 3.0
"""Up to this a difference of mean average precision is slight; in print S-DA is 1.6 points above S-TG at most."""
NEAR = 5.0
"""Up to this far from QPAO counts as comparable: what the paper calls so lies within 4 points on average."""
DENSE = 0.005
"""A sparsity in percent below this is printed as 0.00."""
LEARNED = ("qpao", "oasis-diagonal", "soml-tg", "soml-da")
SOML = ("soml-tg", "soml-da")
NO_FULL_STEP = "OASIS of ours changes only the weights of a triplet's words and does no work of O(d)"
WIDTHS = (0.09, 0.16, 0.06, 0.08, 0.23, 0.13, 0.13, 0.12)
"""Columns in LaTeX, as shares of the line."""

OfCodebook = Callable[[Study, Codebook], Decision]
OfAll = Callable[[Study], Decision]


def claims_table(
    claims: pd.DataFrame | None,
    metrics: pd.DataFrame | None,
    fits: pd.DataFrame | None,
    dimensions: pd.DataFrame | None,
    context: LandmarkContext,
    reference: pd.DataFrame | None = None,
) -> Table:
    """Every claim with its verdict, for each codebook or for all together.

    Parameters
    ----------
    claims : DataFrame or None
        Columns `CLAIM_COLUMNS`.
    metrics, fits : DataFrame or None
        As in `lookalike.exhibits.landmark_tables.landmark_table`.
    dimensions : DataFrame or None
        Times over d, as in `lookalike.exhibits.landmark_figures.time_curves`.
    context : LandmarkContext
    reference : DataFrame, optional
        Printed numbers, from `lookalike.exhibits.reference.load`; they are decided by the same rules, each codebook of
        ours standing beside the paper's of the same place. Without them these columns are empty.

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

    records = []
    values = values_of(metrics, fits, context)
    printed = None if reference is None else printed_study(reference, context)
    for claim in _checked(claims).itertuples():
        row: Any = claim
        rule = str(row.rule)
        for codebook, decision in _decisions(rule, values, dimensions, context):
            beside = Decision("", "") if printed is None else _of_print(rule, printed, codebook)
            told = (*decision, beside.on_average, beside.verdict, beside.evidence, rule, sentence_of(rule))
            records.append((row.id, row.place, row.claim, "" if codebook is None else codebook.id, *told))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    titles = {codebook.id: codebook.title for codebook in context.codebooks}
    rows, last = [], ""
    for shown in _rows(frame):
        said = (shown.place, shown.claim) if shown.id != last else ("", "")
        words = titles.get(shown.representation, "all")
        means = (shown.on_average, shown.printed_on_average)
        decided_by = shown.decided_by if shown.id != last else ""
        rows.append((*said, words, shown.verdict, shown.evidence, *means, decided_by))
        last = shown.id
    made = make_table(frame, [Block(HEADER, tuple(rows))], numbers=range(0), notice=context.not_run_sentence)
    return Table(made.frame, made.markdown, _longtable(made.latex))


def notes_on_claims(context: LandmarkContext, table: Table) -> str:
    """Sentences of the caption: how many claims hold, what the intervals are of, and what the means are beside them."""
    frame = table.frame
    of_map = frame[frame["rule"].isin(OF_MAP) & (frame["printed_verdict"] != "")]
    undecided = int((of_map["printed_verdict"] == OPEN).sum())
    words = [f"{words:,}" for words in list(PRINTED_CODEBOOKS)[: len(context.codebooks)]]
    means = (
        f"Printed means: what the paper's own tables say by the same rules, of its codebook of the same place "
        f"({', '.join(words)} words) and of {len(LANDMARKS)} landmarks."
    )
    if context.not_run is not None:
        return means if len(of_map) else ""
    counts = frame["verdict"].value_counts()
    parts = [f"{verdict}: {int(counts.get(verdict, 0))}" for verdict in VERDICTS]
    asks = "The verdict asks whether other landmarks would agree"
    if len(of_map):
        asks += (
            f"; the paper's printed numbers would leave it undecided in {undecided} of {len(of_map)} cases about mean "
            "average precision"
        )
        means = f"the printed ones beside them are of the paper's codebook of the same place ({', '.join(words)} words)"
    else:
        means = ""
    says = "Our means: what the landmarks at hand say by themselves, on average or, where a claim is about most cases, "
    says += f"by their number{'; ' if means else ''}{means}."
    return (
        f"Of {len(frame)} verdicts, {', '.join(parts)}. {asks}. {says} Differences are in points, with 95% intervals "
        "in brackets that span two: that of a t-test over landmarks, whose draws are averaged first, and that of a "
        "bootstrap clustered by landmark; beside them how many landmarks differ that way. A verdict needs both to lie "
        "on one side of the bound, else it is not decidable; with few landmarks both are wide. A claim about several "
        "methods holds if it holds for all of them, and fails for one only with a p-value below 0.05 after Holm's "
        "adjustment. All times of ours are CPU time."
    )


def sentence_of(rule: str) -> str:
    """First sentence of the rule's own description."""
    decide: Any = OF_CODEBOOK.get(rule) or OF_ALL.get(rule)
    paragraph = " ".join((decide.__doc__ or "").partition("\n\n")[0].split())
    return paragraph.rstrip(".") + "."


def learning_beats_tfidf(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of each learned method minus TF-IDF lies above 0, fails where one lies below 0."""
    pairs = [(method, "tfidf") for method in _learned(study.context)]
    return of_pairs(study, codebook, pairs, MAP, in_most_cases=True)


def qpao_above_oasis(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of QPAO minus OASIS lies above 0, fails where it lies below 0."""
    return of_pairs(study, codebook, [("qpao", "oasis-diagonal")], MAP)


def soml_above_oasis(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of each minus OASIS lies above 0, fails where one lies below 0."""
    return of_pairs(study, codebook, [(method, "oasis-diagonal") for method in SOML], MAP)


def soml_not_below_oasis(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of each minus OASIS lies above -1 point, fails where one lies below that."""
    return of_pairs(study, codebook, [(method, "oasis-diagonal") for method in SOML], MAP, low=-MARGIN)


def soml_near_qpao(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of each minus QPAO lies above -5 points, fails where one lies below that."""
    return of_pairs(study, codebook, [(method, "qpao") for method in SOML], MAP, low=-NEAR, in_most_cases=True)


def da_slightly_above_tg(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of S-DA minus S-TG lies within 0 and 3 points, fails where it lies beyond either."""
    return of_pairs(study, codebook, [("soml-da", "soml-tg")], MAP, high=SLIGHT)


def da_sparser_than_tg(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of S-DA's sparsity minus S-TG's lies above 0, fails where it lies below 0."""
    return of_pairs(study, codebook, [("soml-da", "soml-tg")], SPARSITY, in_most_cases=True)


def oasis_is_dense(study: Study, codebook: Codebook) -> Decision:
    """Holds where the sparsity of OASIS rounds to 0.00% on every landmark, as in print, fails where it does not."""
    rows = rows_of(study, codebook, "oasis-diagonal", SPARSITY)
    if rows.empty:
        return missing(study.context, "oasis-diagonal")
    of_landmarks = rows.groupby("landmark")["value"].mean()
    evidence = f"at most {of_landmarks.max():.2f}% of the weights of a landmark"
    if not study.printed:
        evidence += f"; {NO_FULL_STEP}: the others stay at the 1 that they start from"
    average = ON_AVERAGE if of_landmarks.mean() < DENSE else NOT_ON_AVERAGE
    return Decision(HOLDS if of_landmarks.max() < DENSE else FAILS, evidence, average)


def qpao_is_slowest(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of QPAO's time over each other method's lies above 1, fails where one lies below 1."""
    others = [method for method in _learned(study.context) if method != "qpao"]
    if did_not_end(study.context, codebook, "qpao"):
        return outlasts(study, codebook, "qpao", others)
    return of_pairs(study, codebook, [("qpao", method) for method in others], TRAIN_TIME)


def soml_faster_than_oasis(study: Study, codebook: Codebook) -> Decision:
    """Holds where the interval of OASIS's time over each lies above 1, fails where one lies below 1."""
    return of_pairs(study, codebook, [("oasis-diagonal", method) for method in SOML], TRAIN_TIME)


def sparsity_grows_with_codebook(study: Study) -> Decision:
    """Holds where the interval of each step to the next larger codebook lies above 0, fails where one lies below 0."""
    codebooks = study.context.codebooks
    if len(codebooks) < 2:
        return Decision(OPEN, "one codebook alone was run")
    findings, names, tests = [], [], []
    for method in SOML:
        for small, large in pairwise(codebooks):
            first, second = (rows_of(study, codebook, method, SPARSITY) for codebook in (large, small))
            test = difference(study, first, second, f"{method} {small.id} {large.id}", SPARSITY)
            if test is None:
                findings.append(Finding(*missing(study.context, method)[:2]))
                continue
            names.append(f"{study.context.title_of(method)}, {small.title} to {large.title} words")
            tests.append(test)
    return decided(names, tests, SPARSITY, 0.0, math.inf, findings)


def soml_time_does_not_grow(study: Study) -> Decision:
    """Holds where the largest d takes each at most 1.3 times as long as the smallest, fails where one takes longer."""
    return all_of({study.context.title_of(method): growth(study, method, grows=False) for method in SOML})


def oasis_time_grows(study: Study) -> Decision:
    """Holds where it takes more than 1.3 times as long at the largest d as at the smallest, fails where it does not."""
    decision = growth(study, "oasis-diagonal", grows=True)
    if study.printed or not decision.on_average:
        return decision
    return decision._replace(evidence=f"{decision.evidence}; {NO_FULL_STEP}")


OF_CODEBOOK: dict[str, OfCodebook] = {
    rule.__name__: rule
    for rule in (
        learning_beats_tfidf,
        qpao_above_oasis,
        soml_above_oasis,
        soml_not_below_oasis,
        soml_near_qpao,
        da_slightly_above_tg,
        oasis_is_dense,
        da_sparser_than_tg,
        qpao_is_slowest,
        soml_faster_than_oasis,
    )
}
"""Rules that decide a claim for each codebook by itself."""
OF_ALL: dict[str, OfAll] = {
    rule.__name__: rule for rule in (sparsity_grows_with_codebook, soml_time_does_not_grow, oasis_time_grows)
}
"""Rules that need all codebooks."""
OF_MAP = tuple(OF_CODEBOOK)[:6]
"""Rules about mean average precision."""


def _decisions(
    rule: str, values: pd.DataFrame | None, dimensions: pd.DataFrame | None, context: LandmarkContext
) -> list[tuple[Codebook | None, Decision]]:
    """What one rule finds: once for each codebook, or once for all."""
    places: list[Codebook | None] = [*context.codebooks] if rule in OF_CODEBOOK else [None]
    if context.not_run_sentence is not None:
        return [(place, Decision(NOT_RUN, context.not_run_sentence)) for place in places]
    if values is None:
        return [(place, Decision(OPEN, "no number of this study")) for place in places]
    study = Study(values, dimensions, context)
    return [(place, OF_ALL[rule](study) if place is None else OF_CODEBOOK[rule](study, place)) for place in places]


def _of_print(rule: str, printed: Study, codebook: Codebook | None) -> Decision:
    """What a rule finds in the printed numbers, of the paper's codebook that stands at the place of ours."""
    if codebook is None:
        return OF_ALL[rule](printed)
    return OF_CODEBOOK[rule](printed, printed.context.codebooks[codebook.place])


def _learned(context: LandmarkContext) -> tuple[str, ...]:
    """Learning methods of the paper that were run."""
    return tuple(method for method in LEARNED if method in context.methods)


def _checked(claims: pd.DataFrame | None) -> pd.DataFrame:
    import pandas as pd

    if claims is None:
        return pd.DataFrame(columns=list(CLAIM_COLUMNS))
    missing_columns = [column for column in CLAIM_COLUMNS if column not in claims]
    if missing_columns:
        raise LookalikeError(f"the claims lack the columns {', '.join(missing_columns)}: restore landmark-claims.csv")
    text = claims[list(CLAIM_COLUMNS)].fillna("").astype(str)
    unknown = sorted(set(text["rule"]) - set(OF_CODEBOOK) - set(OF_ALL))
    if unknown:
        raise LookalikeError(f"no rule decides {', '.join(unknown)}: name one of lookalike.exhibits.landmark_claims")
    return text


def _rows(frame: pd.DataFrame) -> Any:
    return frame.itertuples()


def _longtable(latex: str) -> str:
    """Sentences have to break: columns of fixed width, in small type, in a table that may go over pages."""
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{\dimexpr {width}\linewidth-2\tabcolsep\relax}}" for width in WIDTHS
    )
    return (
        latex.replace(r"% needs \usepackage{booktabs}", r"% needs \usepackage{array,booktabs,longtable}")
        .replace(
            rf"\begin{{tabular}}{{{'l' * len(WIDTHS)}}}",
            rf"{{\scriptsize\setlength{{\tabcolsep}}{{3pt}}\begin{{longtable}}{{{columns}}}",
        )
        .replace(r"\end{tabular}", r"\end{longtable}}")
    )
