"""The claims of the Deep Ranking paper (sections 6.4 to 6.7), each with a verdict.

The claims are in ``workflow/resources/triplet-claims.csv``, in words of our own; the rules that decide them are here,
and what they stand on is in `lookalike.exhibits.triplet_evidence`. Beside each verdict, which asks whether other query
images would agree, stands what the numbers say by themselves, ours and those that the paper prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.claim_evidence import FAILS, HOLDS, OPEN
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table
from lookalike.exhibits.triplet_context import (
    ALL,
    CONVNET,
    DEEP,
    EMBEDDING_ON_TOP,
    FEATURES,
    GOLDEN,
    IN_CLASS,
    OASIS_ON_TOP,
    OUT_OF_CLASS,
    PER_TRIPLET,
    PRECISION,
    SCORE,
    SINGLE,
    TripletContext,
    weighted_systems,
)
from lookalike.exhibits.triplet_evidence import (
    AS_CLAIMED,
    NOT_AS_CLAIMED,
    Bound,
    Decision,
    Study,
    above,
    below,
    decided,
    printed_study,
    study_of,
)

if TYPE_CHECKING:
    import pandas as pd

CLAIM_COLUMNS = ("id", "place", "claim", "rule")
"""Columns of triplet-claims.csv."""
COLUMNS = (
    "id",
    "place",
    "claim",
    "verdict",
    "evidence",
    "by_our_numbers",
    "by_printed_numbers",
    "printed_evidence",
    "rule",
    "decided_by",
)
HEADER = ("place", "claim", "verdict", "evidence", "our numbers", "printed numbers", "decided by")
VERDICTS = (HOLDS, FAILS, OPEN, NOT_RUN)
BOTH = (PRECISION, SCORE)
SLIGHT = 3.0
"""Up to this a difference of score is slight, in percent of the triplets; in print it is 1.2."""
MUCH = 1.0
"""From this on precision is raised a lot, in points; the paper draws it and prints no number."""
SIMILAR = MUCH
"""Up to this precision is about the same, in points."""
UNIFORM_SYSTEM, NO_OUT_OF_CLASS = "multiscale-uniform-000", "multiscale-weighted-000"
WIDTHS = (0.09, 0.18, 0.08, 0.29, 0.11, 0.11, 0.14)
"""Columns in LaTeX, as shares of the line."""


def claims_table(
    claims: pd.DataFrame | None,
    contrasts: pd.DataFrame | None,
    intervals: pd.DataFrame | None,
    context: TripletContext,
    reference: pd.DataFrame | None = None,
) -> Table:
    """Every claim with its verdict.

    Parameters
    ----------
    claims : DataFrame or None
        Columns `CLAIM_COLUMNS`.
    contrasts : DataFrame or None
        ``system_a``, ``system_b``, ``subset``, ``metric``, ``difference`` (a - b), ``low``, ``high`` (95%),
        ``p_value``.
    intervals : DataFrame or None
        As in `lookalike.exhibits.triplet_values.measured`.
    context : TripletContext
    reference : DataFrame, optional
        Printed numbers, from `lookalike.exhibits.reference.load`, which go through the same rules; without them these
        columns are empty.

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

    study = study_of(contrasts, intervals, context)
    printed = None if reference is None else printed_study(reference, context)
    records = []
    for claim in _checked(claims).itertuples():
        row: Any = claim
        rule = RULES[str(row.rule)]
        decision = rule(study)
        if context.not_run_sentence is not None:
            decision = Decision(NOT_RUN, context.not_run_sentence)
        beside = Decision("", "") if printed is None else rule(printed)
        of_print = (beside.by_numbers, beside.evidence if beside.by_numbers else "")
        records.append((row.id, row.place, row.claim, *decision, *of_print, row.rule, sentence_of(str(row.rule))))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    rows = [
        (place, claim, verdict, evidence, ours, of_print, decided_by)
        for _, place, claim, verdict, evidence, ours, of_print, _, _, decided_by in records
    ]
    made = make_table(frame, [Block(HEADER, tuple(rows))], numbers=range(0), notice=context.not_run_sentence)
    return Table(made.frame, made.markdown, _longtable(made.latex))


def notes_on_claims(table: Table, context: TripletContext) -> str:
    """Sentences of the caption: how many claims hold, what the intervals are of, and what stands beside verdicts."""
    frame = table.frame
    printed = frame["by_printed_numbers"]
    against = frame.loc[printed.str.startswith(NOT_AS_CLAIMED), "id"]
    of_print = f"The paper's printed numbers, by the same rules, bear out {int((printed == AS_CLAIMED).sum())} of the "
    of_print += f"{int((printed != '').sum())} claims that they are about"
    of_print += f" (against: {', '.join(against)})." if len(against) else "."
    if context.not_run is not None:
        return of_print
    counts = frame["verdict"].value_counts()
    told = [f"{verdict}: {int(counts[verdict])}" for verdict in VERDICTS if verdict in counts]
    return (
        f"Of {len(frame)} claims, {', '.join(told)}. A verdict asks whether other query images of the same "
        "text queries would agree: 95% intervals of the paired differences, by a bootstrap over query images, in "
        "brackets; points are of precision. "
        "Each network was trained once, and the chance in that is in no interval. "
        "A claim about several differences holds if all of them do, and fails for one only with a p-value below 0.05 "
        f"after Holm's adjustment. Our numbers: what the differences say without their intervals. {of_print}"
    )


def sentence_of(rule: str) -> str:
    """First sentence of the rule's own description."""
    paragraph = " ".join((RULES[rule].__doc__ or "").partition("\n\n")[0].split())
    return paragraph.rstrip(".") + "."


def l1hashkpca_beats_features(study: Study) -> Decision:
    """Holds where the interval of L1HashKPCA minus each lies above 0 in both metrics, fails where one lies below 0."""
    return decided(study, above([("l1hashkpca", feature) for feature in FEATURES], BOTH))


def oasis_beats_l1hashkpca(study: Study) -> Decision:
    """Holds where the interval of OASIS minus L1HashKPCA lies above 0 in both metrics, fails where one lies below 0."""
    return decided(study, above([("oasis", "l1hashkpca")], BOTH))


def deep_beats_features(study: Study) -> Decision:
    """Holds where the interval of DeepRanking minus each lies above 0 in both metrics, fails where one lies below 0."""
    return decided(study, above([(DEEP, other) for other in ("oasis", "l1hashkpca", *FEATURES)], BOTH))


def deep_beats_golden_in_precision(study: Study) -> Decision:
    """Holds where the interval of DeepRanking's precision minus the golden one lies above 0, fails where below 0."""
    return _not_its_pupil(decided(study, above([(DEEP, GOLDEN)], [PRECISION])))


def golden_slightly_above_at_the_top(study: Study) -> Decision:
    """Holds where the interval of DeepRanking minus golden lies in -3 to 0% of triplets, fails where it lies beyond."""
    return _not_its_pupil(decided(study, [Bound(DEEP, GOLDEN, PER_TRIPLET, low=-SLIGHT, high=0.0)]))


def _not_its_pupil(decision: Decision) -> Decision:
    """Leave open what is said of networks that learn from golden relevance: ours and the golden one share a teacher."""
    if decision.verdict not in (HOLDS, FAILS):
        return decision
    told = "the golden feature learns from the same relevance here, and does not make it"
    return Decision(OPEN, f"{decision.evidence}; {told}", decision.by_numbers)


def ranking_beats_classification(study: Study) -> Decision:
    """Holds where the interval of single-scale minus ConvNet is above 0 in both metrics, fails where one is below 0."""
    return decided(study, above([(SINGLE, CONVNET)], BOTH))


def multiscale_beats_single_scale(study: Study) -> Decision:
    """Holds where the interval of multi- minus single-scale is above 0 in both metrics, fails where one is below 0."""
    return decided(study, above([(DEEP, SINGLE)], BOTH))


def tops_beat_single_scale(study: Study) -> Decision:
    """Holds where the interval of each minus single-scale is above 0 in both metrics, fails where one is below 0."""
    return decided(study, above([(top, SINGLE) for top in (OASIS_ON_TOP, EMBEDDING_ON_TOP)], BOTH))


def tops_stay_below_deep(study: Study) -> Decision:
    """Holds where the interval of DeepRanking minus each lies above 0 in both metrics, fails where one lies below 0."""
    return decided(study, above([(DEEP, top) for top in (OASIS_ON_TOP, EMBEDDING_ON_TOP)], BOTH))


def score_falls_with_out_of_class(study: Study) -> Decision:
    """Holds where no share scores above a smaller one and the ends' interval lies below 0, fails where above 0."""
    shares = weighted_systems(
        (system for system, subset, metric in study.values if (subset, metric) == (ALL, SCORE)),
        study.context.chosen_percent,
    )
    if len(shares) < 2:
        return decided(study, below([(DEEP, NO_OUT_OF_CLASS)], [SCORE]))
    systems = list(shares.values())
    decision = decided(study, below([(systems[-1], systems[0])], [SCORE]))
    scores = [study.values[system, ALL, SCORE].value for system in systems]
    told = ", ".join(f"{score:,.0f} at {share}%" for share, score in zip(shares, scores, strict=True))
    rises = [f"{a}% to {b}%" for (a, x), (b, y) in pairwise(zip(shares, scores, strict=True)) if y > x]
    by_numbers = f"{NOT_AS_CLAIMED} ({', '.join(rises)})" if rises else AS_CLAIMED
    verdict = OPEN if rises and decision.verdict == HOLDS else decision.verdict
    return Decision(verdict, f"{decision.evidence}; scores: {told}", by_numbers)


def small_share_raises_precision(study: Study) -> Decision:
    """Holds where the interval of DeepRanking's precision minus that without lies above 1 point, fails where below."""
    return decided(study, [Bound(DEEP, NO_OUT_OF_CLASS, PRECISION, low=MUCH)])


def sampling_alike_in_precision(study: Study) -> Decision:
    """Holds where the interval of weighted minus uniform lies within 1 point of 0, fails where it lies beyond them."""
    return decided(study, [Bound(NO_OUT_OF_CLASS, UNIFORM_SYSTEM, PRECISION, low=-SIMILAR, high=SIMILAR)])


def weighted_beats_uniform_at_the_top(study: Study) -> Decision:
    """Holds where the interval of the score of weighted minus uniform lies above 0, fails where it lies below 0."""
    return decided(study, above([(NO_OUT_OF_CLASS, UNIFORM_SYSTEM)], [SCORE]))


def convnet_better_at_semantics(study: Study) -> Decision:
    """Holds where the interval of ConvNet minus OASIS on out-of-class negatives lies above 0, fails where below 0."""
    return decided(study, above([(CONVNET, "oasis")], [PRECISION], OUT_OF_CLASS))


def oasis_better_at_appearance(study: Study) -> Decision:
    """Holds where the interval of OASIS minus ConvNet on in-class negatives lies above 0, fails where it is below 0."""
    return decided(study, above([("oasis", CONVNET)], [PRECISION], IN_CLASS))


def deep_knows_both(study: Study) -> Decision:
    """Holds where it is above OASIS on out-of-class and above ConvNet on in-class negatives, fails where below one."""
    pairs: Sequence[Bound] = [
        *above([(DEEP, "oasis")], [PRECISION], OUT_OF_CLASS),
        *above([(DEEP, CONVNET)], [PRECISION], IN_CLASS),
    ]
    return decided(study, pairs)


RULES: dict[str, Callable[[Study], Decision]] = {
    rule.__name__: rule
    for rule in (
        l1hashkpca_beats_features,
        oasis_beats_l1hashkpca,
        deep_beats_features,
        deep_beats_golden_in_precision,
        golden_slightly_above_at_the_top,
        ranking_beats_classification,
        multiscale_beats_single_scale,
        tops_beat_single_scale,
        tops_stay_below_deep,
        score_falls_with_out_of_class,
        small_share_raises_precision,
        sampling_alike_in_precision,
        weighted_beats_uniform_at_the_top,
        convnet_better_at_semantics,
        oasis_better_at_appearance,
        deep_knows_both,
    )
}


def _checked(claims: pd.DataFrame | None) -> pd.DataFrame:
    import pandas as pd

    if claims is None:
        return pd.DataFrame(columns=list(CLAIM_COLUMNS))
    missing = [column for column in CLAIM_COLUMNS if column not in claims]
    if missing:
        raise LookalikeError(f"the claims lack the columns {', '.join(missing)}: restore triplet-claims.csv")
    text = claims[list(CLAIM_COLUMNS)].fillna("").astype(str)
    unknown = sorted(set(text["rule"]) - set(RULES))
    if unknown:
        raise LookalikeError(f"no rule decides {', '.join(unknown)}: name one of lookalike.exhibits.triplet_claims")
    return text


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
