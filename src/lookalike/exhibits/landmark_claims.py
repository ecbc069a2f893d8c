"""The claims of the landmark study's paper (SOML, AAAI 2014), each with a verdict for every codebook.

The claims are in ``workflow/resources/landmark-claims.csv``, in words of our own; the rules that decide them are here.
Draws of one landmark share its queries and most of its images, so they are no independent evidence: the differences of
a landmark are averaged over its draws first, and two intervals say what other landmarks would show, that of the t-test
over landmarks and that of a bootstrap in which a landmark's draws are drawn together or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.errors import LookalikeError
from lookalike.evaluation.comparison import LEVEL, clustered_bootstrap, corrected_t_test, holm
from lookalike.exhibits.claim_evidence import FAILS, HOLDS, LEFT_OUT, OPEN, Finding, together, within
from lookalike.exhibits.landmark_context import Codebook, LandmarkContext
from lookalike.exhibits.landmark_figures import LEARNER_METHODS
from lookalike.exhibits.landmark_tables import MAP, SPARSITY, values_of
from lookalike.exhibits.runtime import TRAIN_TIME, times_over
from lookalike.exhibits.tables import NOT_RUN, Block, Table, make_table
from lookalike.seeds import generator

if TYPE_CHECKING:
    import pandas as pd

CLAIM_COLUMNS = ("id", "place", "claim", "rule")
"""Columns of landmark-claims.csv."""
COLUMNS = ("id", "place", "claim", "representation", "verdict", "evidence", "rule", "decided_by")
"""Columns of the table; ``representation`` is "" for a claim about all codebooks at once."""
VERDICTS = (HOLDS, FAILS, OPEN)
MARGIN = 1.0
"""Differences of mean average precision up to this are none in practice, in points."""
SLIGHT = 3.0
"""Up to this a difference of mean average precision is slight; in print S-DA is 1.6 points above S-TG at most."""
NEAR = 5.0
"""Up to this far from QPAO counts as comparable: what the paper calls so lies within 4 points on average."""
GROWS = 1.3
"""A time that does not even grow this many times from the smallest codebook to the largest does not grow."""
SHORTEST = 1e-9
"""Seconds that a time counts as at least, which has a logarithm."""
LEARNED = ("qpao", "oasis-diagonal", "soml-tg", "soml-da")
SOML = ("soml-tg", "soml-da")


class Study(NamedTuple):
    """What rules decide by."""

    values: pd.DataFrame
    """From `lookalike.exhibits.landmark_tables.values_of`."""
    dimensions: pd.DataFrame | None
    context: LandmarkContext


class Difference(NamedTuple):
    """Two methods, or two codebooks, held against each other."""

    of_landmarks: npt.NDArray[np.float64]
    """First minus second, a mean over draws for each landmark; of times the logarithm of first over second."""
    intervals: tuple[tuple[float, float], ...]
    """The 95% intervals of their mean, of the t-test and of the bootstrap; NaN with a single landmark."""

    @property
    def mean(self) -> float:
        """Mean over landmarks."""
        return float(self.of_landmarks.mean())


OfCodebook = Callable[[Study, Codebook], Finding]
OfAll = Callable[[Study], Finding]


def claims_table(
    claims: pd.DataFrame | None,
    metrics: pd.DataFrame | None,
    fits: pd.DataFrame | None,
    dimensions: pd.DataFrame | None,
    context: LandmarkContext,
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
    for claim in _checked(claims).itertuples():
        row: Any = claim
        for representation, finding in _findings(str(row.rule), values, dimensions, context):
            told = (finding.verdict, finding.evidence, row.rule, sentence_of(str(row.rule)))
            records.append((row.id, row.place, row.claim, representation, *told))
    frame = pd.DataFrame(records, columns=list(COLUMNS))
    titles = {codebook.id: codebook.title for codebook in context.codebooks}
    rows, last = [], ""
    for shown in _rows(frame):
        said = (shown.place, shown.claim) if shown.id != last else ("", "")
        words = titles.get(shown.representation, "all")
        rows.append((*said, words, shown.verdict, shown.evidence, shown.decided_by if shown.id != last else ""))
        last = shown.id
    block = Block(("place", "claim", "words", "verdict", "evidence", "decided by"), tuple(rows))
    made = make_table(frame, [block], numbers=range(0), notice=context.not_run_sentence)
    return Table(made.frame, made.markdown, _longtable(made.latex))


def notes_on_claims(context: LandmarkContext, table: Table) -> str:
    """Sentences of the caption: how many claims hold, and what the intervals are of."""
    if context.not_run is not None:
        return ""
    counts = table.frame["verdict"].value_counts()
    parts = [f"{verdict}: {int(counts.get(verdict, 0))}" for verdict in VERDICTS]
    return (
        f"Of {len(table.frame)} verdicts, {', '.join(parts)}. Differences are in points, with 95% intervals in "
        "brackets that span two: that of a t-test over landmarks, whose draws are averaged first, and that of a "
        "bootstrap clustered by landmark; beside them how many landmarks differ that way. A verdict needs both to lie "
        "on one side of the bound, else it is not decidable; with few landmarks both are wide. A claim about several "
        "methods holds if it holds for all of them, and fails for one only with a p-value below 0.05 after Holm's "
        "adjustment."
    )


def sentence_of(rule: str) -> str:
    """First sentence of the rule's own description."""
    decide: Any = OF_CODEBOOK.get(rule) or OF_ALL.get(rule)
    paragraph = " ".join((decide.__doc__ or "").partition("\n\n")[0].split())
    return paragraph.rstrip(".") + "."


def learning_beats_tfidf(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of each learned method minus TF-IDF lies above 0, fails where one lies below 0."""
    return _of_pairs(study, codebook, [(method, "tfidf") for method in _learned(study.context)], MAP)


def qpao_above_oasis(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of QPAO minus OASIS lies above 0, fails where it lies below 0."""
    return _of_pairs(study, codebook, [("qpao", "oasis-diagonal")], MAP)


def soml_not_below_oasis(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of each minus OASIS lies above -1 point, fails where one lies below that."""
    return _of_pairs(study, codebook, [(method, "oasis-diagonal") for method in SOML], MAP, low=-MARGIN)


def soml_near_qpao(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of each minus QPAO lies above -5 points, fails where one lies below that."""
    return _of_pairs(study, codebook, [(method, "qpao") for method in SOML], MAP, low=-NEAR)


def da_slightly_above_tg(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of S-DA minus S-TG lies within 0 and 3 points, fails where it lies beyond either."""
    return _of_pairs(study, codebook, [("soml-da", "soml-tg")], MAP, high=SLIGHT)


def da_sparser_than_tg(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of S-DA's sparsity minus S-TG's lies above 0, fails where it lies below 0."""
    return _of_pairs(study, codebook, [("soml-da", "soml-tg")], SPARSITY)


def oasis_is_dense(study: Study, codebook: Codebook) -> Finding:
    """Holds where the sparsity of OASIS rounds to 0.00% on every landmark, as in print, fails where it does not."""
    rows = _rows_of(study, codebook, "oasis-diagonal", SPARSITY)
    if rows.empty:
        return _missing(study.context, "oasis-diagonal")
    largest = float(rows.groupby("landmark")["value"].mean().max())
    return Finding(HOLDS if largest < 0.005 else FAILS, f"at most {largest:.2f}% of the weights of a landmark")


def qpao_is_slowest(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of QPAO's time over each other method's lies above 1, fails where one lies below 1."""
    if reason := _did_not_end(study.context, codebook, "qpao"):
        return Finding(HOLDS, f"{study.context.title_of('qpao')} did not end within its time limit: {reason}")
    others = [method for method in _learned(study.context) if method != "qpao"]
    return _of_pairs(study, codebook, [("qpao", method) for method in others], TRAIN_TIME)


def soml_faster_than_oasis(study: Study, codebook: Codebook) -> Finding:
    """Holds where the interval of OASIS's time over each lies above 1, fails where one lies below 1."""
    return _of_pairs(study, codebook, [("oasis-diagonal", method) for method in SOML], TRAIN_TIME)


def sparsity_grows_with_codebook(study: Study) -> Finding:
    """Holds where the interval of each step to the next larger codebook lies above 0, fails where one lies below 0."""
    codebooks = study.context.codebooks
    if len(codebooks) < 2:
        return Finding(OPEN, "one codebook alone was run")
    findings, names, tests = [], [], []
    for method in SOML:
        for small, large in pairwise(codebooks):
            first, second = (_rows_of(study, codebook, method, SPARSITY) for codebook in (large, small))
            test = _difference(study, first, second, f"{method} {small.id} {large.id}", SPARSITY)
            if test is None:
                findings.append(_missing(study.context, method))
                continue
            names.append(f"{study.context.title_of(method)}, {small.title} to {large.title} words")
            tests.append(test)
    return together([*_decided(names, tests, SPARSITY, 0.0, math.inf), *findings])


def soml_time_does_not_grow(study: Study) -> Finding:
    """Holds where the largest d takes each at most 1.3 times as long as the smallest, fails where one takes longer."""
    return together([_growth(study, method, grows=False) for method in SOML])


def oasis_time_grows(study: Study) -> Finding:
    """Holds where it takes more than 1.3 times as long at the largest d as at the smallest, fails where it does not."""
    return _growth(study, "oasis-diagonal", grows=True)


OF_CODEBOOK: dict[str, OfCodebook] = {
    rule.__name__: rule
    for rule in (
        learning_beats_tfidf,
        qpao_above_oasis,
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


def _findings(
    rule: str, values: pd.DataFrame | None, dimensions: pd.DataFrame | None, context: LandmarkContext
) -> list[tuple[str, Finding]]:
    """Verdicts of one rule: one for each codebook, or one of all."""
    places = [codebook.id for codebook in context.codebooks] if rule in OF_CODEBOOK else [""]
    if context.not_run_sentence is not None:
        return [(place, Finding(NOT_RUN, context.not_run_sentence)) for place in places]
    if values is None:
        return [(place, Finding(OPEN, "no number of this study")) for place in places]
    study = Study(values, dimensions, context)
    if rule in OF_ALL:
        return [("", OF_ALL[rule](study))]
    return [(codebook.id, OF_CODEBOOK[rule](study, codebook)) for codebook in context.codebooks]


def _of_pairs(
    study: Study,
    codebook: Codebook,
    pairs: Sequence[tuple[str, str]],
    metric: str,
    low: float = 0.0,
    high: float = math.inf,
) -> Finding:
    """One finding of several pairs of methods, first minus second (times: first over second)."""
    context = study.context
    names, tests, findings = [], [], []
    for first, second in pairs:
        failed = next((method for method in (first, second) if _did_not_end(context, codebook, method)), None)
        if failed is not None:
            findings.append(Finding(LEFT_OUT, f"{context.title_of(failed)} did not end within its time limit"))
            continue
        rows = [_rows_of(study, codebook, method, metric) for method in (first, second)]
        absent = next((method for method, of in zip((first, second), rows, strict=True) if of.empty), None)
        if absent is not None:
            findings.append(_missing(context, absent))
            continue
        test = _difference(study, rows[0], rows[1], f"{codebook.id} {first} {second}", metric)
        if test is None:
            findings.append(Finding(OPEN, f"{context.title_of(first)} and {context.title_of(second)} share no draw"))
            continue
        sign = "over" if metric == TRAIN_TIME else "minus"
        names.append(f"{context.title_of(first)} {sign} {context.title_of(second)}")
        tests.append(test)
    finding = together([*_decided(names, tests, metric, low, high), *findings])
    return finding._replace(verdict=OPEN) if finding.verdict == LEFT_OUT else finding


def _decided(names: Sequence[str], tests: Sequence[Difference], metric: str, low: float, high: float) -> list[Finding]:
    """Verdict of each difference: within the bounds, beyond one of them, or not decidable."""
    # one of several that lies beyond its bound by chance does not refute a claim
    p_values = holm([_p_of_nearer_bound(test, low, high) for test in tests])
    findings = []
    for name, test, p in zip(names, tests, p_values, strict=True):
        inside = within(test.intervals, low, high)
        refuted = inside is False and p < LEVEL
        verdict = HOLDS if inside else FAILS if refuted else OPEN
        findings.append(Finding(verdict, f"{name} {_told(test, metric)}"))
    return findings


def _p_of_nearer_bound(test: Difference, low: float, high: float) -> float:
    """p-value of the t-test that the mean is the bound that it is closer to; NaN with a single landmark."""
    bound = low if abs(test.mean - low) <= abs(test.mean - high) else high
    return corrected_t_test(test.of_landmarks - bound, n_train=1, n_test=0).p


def _difference(study: Study, first: pd.DataFrame, second: pd.DataFrame, name: str, metric: str) -> Difference | None:
    """First minus second over landmarks and draws that both have; times as logarithms, since they differ by factors."""
    keys = ["landmark", "draw"]
    both = first[[*keys, "value"]].merge(second[[*keys, "value"]], on=keys, suffixes=("_first", "_second"))
    if both.empty:
        return None
    values = both[["value_first", "value_second"]].to_numpy(dtype=np.float64)
    if metric == TRAIN_TIME:
        values = np.log(np.maximum(values, SHORTEST))
    table = both.assign(difference=values[:, 0] - values[:, 1])
    of_landmarks = table.groupby("landmark", sort=True)["difference"].mean().to_numpy(dtype=np.float64)
    # landmarks are not partitions of one set of images, so there is nothing to correct: the ordinary paired test
    t = corrected_t_test(of_landmarks, n_train=1, n_test=0)
    stream = generator(study.context.seed, "landmark claims", study.context.dataset, name, metric)
    clusters = table.rename(columns={"landmark": "image_id", "draw": "fold"})
    bootstrap = clustered_bootstrap(clusters, random_state=stream)
    return Difference(of_landmarks, ((t.low, t.high), (bootstrap.low, bootstrap.high)))


def _told(test: Difference, metric: str) -> str:
    """``+3.4 [1.2, 5.6] (6 of 7 above 0)`` of points; ``12x [8.1x, 17x]`` of times."""
    n = len(test.of_landmarks)
    low, high = min(interval[0] for interval in test.intervals), max(interval[1] for interval in test.intervals)
    if metric == TRAIN_TIME:
        interval = f"[{times_over(math.exp(low))}, {times_over(math.exp(high))}]"
        return f"{times_over(math.exp(test.mean))} {interval if n > 1 else '(one landmark)'}"
    if n == 1:
        return f"{test.mean:+.1f} (one landmark)"
    above = f"{np.count_nonzero(test.of_landmarks > 0)} of {n} above 0"
    return f"{test.mean:+.1f} [{low:.1f}, {high:.1f}] ({above})"


def _growth(study: Study, method: str, *, grows: bool) -> Finding:
    """Whether a time grows from the smallest d to the largest: on simulated rows, else on the study's own codebooks."""
    times, of = _times_by_size(study, method)
    title = study.context.title_of(method)
    if len(times) < 2:
        return Finding(OPEN, f"{title}: no times at several sizes")
    smallest, largest = min(times), max(times)
    ratio = times[largest] / times[smallest]
    verdict = HOLDS if (ratio > GROWS) is grows else FAILS
    return Finding(verdict, f"{title} {times_over(ratio)} from {smallest:,} to {largest:,} words ({of})")


def _times_by_size(study: Study, method: str) -> tuple[dict[int, float], str]:
    """Words to seconds, and what they are of."""
    if study.dimensions is not None and not study.dimensions.empty:
        names = study.dimensions["learner"].map(lambda name: LEARNER_METHODS.get(str(name), str(name)))
        rows = study.dimensions[(names == method) & study.dimensions["seconds"].notna()]
        medians = rows.groupby("n_features")["seconds"].median()
        if len(medians) > 1:
            sizes: Any = medians.items()
            return {int(size): float(seconds) for size, seconds in sizes}, "simulated rows"
    times = {}
    for codebook in study.context.codebooks:
        own = _rows_of(study, codebook, method, TRAIN_TIME)
        if not own.empty:
            times[codebook.n_words] = float(own["value"].mean())
    return times, "this study's fits"


def _rows_of(study: Study, codebook: Codebook, method: str, metric: str) -> pd.DataFrame:
    values = study.values
    chosen = (values["representation"] == codebook.id) & (values["method"] == method) & (values["metric"] == metric)
    return values[chosen]


def _learned(context: LandmarkContext) -> tuple[str, ...]:
    """Learning methods of the paper that were run."""
    return tuple(method for method in LEARNED if method in context.methods)


def _did_not_end(context: LandmarkContext, codebook: Codebook, method: str) -> str:
    """Why a method lacks landmarks, whose others would be the easier ones; "" where it has all."""
    reasons = (
        reason for (name, _, failed), reason in context.not_converged.items() if (name, failed) == (codebook.id, method)
    )
    return next(reasons, "")


def _missing(context: LandmarkContext, method: str) -> Finding:
    return Finding(OPEN, f"{context.title_of(method)} has no result here")


def _checked(claims: pd.DataFrame | None) -> pd.DataFrame:
    import pandas as pd

    if claims is None:
        return pd.DataFrame(columns=list(CLAIM_COLUMNS))
    missing = [column for column in CLAIM_COLUMNS if column not in claims]
    if missing:
        raise LookalikeError(f"the claims lack the columns {', '.join(missing)}: restore landmark-claims.csv")
    text = claims[list(CLAIM_COLUMNS)].fillna("").astype(str)
    unknown = sorted(set(text["rule"]) - set(OF_CODEBOOK) - set(OF_ALL))
    if unknown:
        raise LookalikeError(f"no rule decides {', '.join(unknown)}: name one of lookalike.exhibits.landmark_claims")
    return text


def _rows(frame: pd.DataFrame) -> Any:
    return frame.itertuples()


def _longtable(latex: str) -> str:
    """Sentences have to break: columns of fixed width in a table that may go over pages."""
    widths = (0.1, 0.2, 0.07, 0.09, 0.28, 0.16)
    columns = "".join(rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}" for width in widths)
    return (
        latex.replace(r"% needs \usepackage{booktabs}", r"% needs \usepackage{array,booktabs,longtable}")
        .replace(r"\begin{tabular}{llllll}", rf"\begin{{longtable}}{{{columns}}}")
        .replace(r"\end{tabular}", r"\end{longtable}")
    )
