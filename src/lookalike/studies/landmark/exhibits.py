"""Tables, figures and the montage of the landmark study: SOML (AAAI 2014), Tables 1 to 9, and what no paper prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd

from lookalike.exhibits import words as wording
from lookalike.exhibits.drawing import lettered
from lookalike.exhibits.in_text import Fact, numbers_in_text
from lookalike.exhibits.margins import margin
from lookalike.exhibits.model import Axis, Drawn, Figure, Gallery, Line, Margin, Panel, Series, Table
from lookalike.exhibits.printed import beside_print, plus_minus, significant
from lookalike.exhibits.registry import exhibit
from lookalike.exhibits.statuses import Status
from lookalike.exhibits.style import BLACK, Look, looks_of
from lookalike.studies.landmark import montage
from lookalike.studies.landmark.lead import FEATURES, LEADING, PAIRS
from lookalike.studies.landmark.rankings import MAP, MAP_FULL, SPARSITY
from lookalike.studies.landmark.settings import CHOSEN
from lookalike.studies.landmark.study import (
    LANDMARKS,
    MEAN,
    PAPER,
    PRINTED_CODEBOOKS,
    PRINTED_METHOD,
    QUANTITIES,
    SPARSE,
    TABLE_METHODS,
    TRAIN_TIME,
    Form,
    LandmarkStudy,
    Vocabulary,
)
from lookalike.studies.metrics import rows_in, select

LEARNED = TABLE_METHODS[1:]
AS_IN_PRINT = {chosen: method for method, chosen in CHOSEN.items()}
CONSTANTS = ("printed", "chosen")
BEST: Mapping[str, Callable[[Iterable[float]], float]] = {MAP: max, SPARSITY: max, TRAIN_TIME: min}
TABLES = {quantity: range(first, first + 3) for quantity, first in zip(QUANTITIES, (1, 4, 7), strict=True)}
"""Numbers of the paper's tables of each quantity, one a codebook."""
INTERVAL = "95%, the wider of a t-test over landmarks and a bootstrap over landmarks and draws"


def paper_tables(quantity: str, title: str) -> Callable[..., Callable[..., Drawn]]:
    """Make a function the paper's tables of a quantity, one a size of the codebook, on real photographs."""

    def register(function: Callable[..., Drawn]) -> Callable[..., Drawn]:
        for number, size in zip(TABLES[quantity], PRINTED_CODEBOOKS, strict=True):
            named = exhibit(
                f"{PAPER}/table{number}",
                title=title,
                needs=("metrics", "fits"),
                asks=(size,),
                shows=("methods",),
                when=partial(_has_codebook, size),
                condition=f"a codebook of {size:,} visual words, and photographs that no code made",
            )
            named(function)
        return function

    return register


def _has_lead(study: LandmarkStudy) -> bool:
    return study.lead is not None


def _has_codebook(n_words: int, study: LandmarkStudy) -> bool:
    return not study.synthetic and any(codebook.n_words == n_words for codebook in study.vocabularies)


@paper_tables(MAP, "Mean average precision by landmark")
def mean_average_precision(study: LandmarkStudy) -> Table:
    """How well each method finds the images of a landmark: mean average precision (mAP) of its queries, in percent."""
    return quantity_table(study, MAP)


@paper_tables(SPARSITY, "Sparsity of the learned weights by landmark")
def sparsity_of_weights(study: LandmarkStudy) -> Table:
    """How many of the learned weights are zero (up to 1e-10), in percent."""
    return quantity_table(study, SPARSITY)


@paper_tables(TRAIN_TIME, "Training time by landmark")
def training_time(study: LandmarkStudy) -> Table:
    """How long each method trains, in seconds of processor time of one thread."""
    return quantity_table(study, TRAIN_TIME)


@exhibit(
    f"{PAPER}/text",
    title="Numbers in its text",
    needs=("manifest", "fits"),
    shows=("methods",),
    when=lambda study: not study.synthetic,
    condition="photographs that no code made",
)
def numbers_of_text(study: LandmarkStudy) -> Table:
    """What the paper says in its text: how many images there are, are learned from as triplets, and are ranked."""
    fits, why = study.table("fits"), study.other_data(study.codebooks)
    # OASIS draws as many as it takes steps
    triplets = fits.loc[fits["method"] != "oasis-diagonal", "n_triplets"]
    facts = [
        Fact("images", "Images", len(study.table("manifest"))),
        Fact("triplets_per_landmark", "Triplets of a landmark", float(triplets.median())),
        Fact("retrieved_images", "Images that are ranked", float(fits["n_test"].median())),
    ]
    return numbers_in_text(study, facts, lambda cell: (Status.NOT_COMPARABLE, why) if why else None)


def quantity_table(study: LandmarkStudy, quantity: str) -> Table:
    """Return a row a landmark, a column a method, ours above the paper's, with the codebook of the table at hand."""
    sizes = {f"table{number}": size for number, size in zip(TABLES[quantity], PRINTED_CODEBOOKS, strict=True)}
    size = sizes[study.exhibit.name] if study.exhibit is not None else next(iter(PRINTED_CODEBOOKS))
    codebook = next(codebook for codebook in study.vocabularies if codebook.n_words == size)
    methods = columns_of(study, quantity)
    titles = {
        "representation": {codebook.id: f"{codebook.title} words"},
        "landmark": {**study.landmark_titles, MEAN: mean_title(quantity)},
        "method": {method: study.title_of(method) for method in methods},
    }
    notes = time_notes(study) if quantity == TRAIN_TIME else ()
    if not study.shows_printed:
        notes = (f"The paper's row is the mean over its {len(LANDMARKS)} landmarks of Oxford.", *notes)
    cells = table_cells(study, codebook, quantity, methods)
    pairs = {(method, "oasis-diagonal"): "" for method in SPARSE} if quantity == MAP else {}
    table = Table(cells, ("landmark",), "method", "representation", titles=titles, notes=notes)
    return replace(table, compared="method", best=BEST, margins=margins(study, codebook, pairs))


def margins(study: LandmarkStudy, codebook: Vocabulary, pairs: Mapping[tuple[str, str], str]) -> tuple[Margin, ...]:
    """Set the first method of each pair beside the second, in mAP over landmarks and in print, with a pair's note."""
    methods = dict.fromkeys((*TABLE_METHODS, *(method for pair in pairs for method in pair)))
    ours = {method: study.mean(codebook, method, MAP).mean for method in methods}
    printed = {method: study.printed_mean(codebook, method, MAP) for method in TABLE_METHODS}
    found = []
    for pair, note in pairs.items():
        rows = study.contrasts.intervals(codebook.id, MAP, *pair)
        # a mean over the landmarks at hand is not one over all
        if rows and not math.isnan(ours[pair[0]] + ours[pair[1]] + rows[0].mean):
            titled = {"setting": f"{codebook.title} visual words", "metric": "mAP", "interval": INTERVAL}
            found.append(margin(study, rows, ours, printed, note=note, **titled))
    return tuple(found)


def columns_of(study: LandmarkStudy, quantity: str = MAP) -> tuple[str, ...]:
    """Return the methods that have a column: those of the paper's tables, then every further one that was run."""
    learned = TABLE_METHODS if quantity == MAP else LEARNED
    return (*learned, *(method for method in study.methods if method not in TABLE_METHODS))


def table_cells(study: LandmarkStudy, codebook: Vocabulary, quantity: str, methods: Sequence[str]) -> pd.DataFrame:
    """Return every cell of one of the paper's tables, ours beside the paper's, in percent or seconds."""
    records = []
    for landmark, method in product((*study.landmark_titles, MEAN), methods):
        names = {"representation": codebook.id, "n_words": codebook.n_words, "landmark": landmark}
        # a landmark of another data set that has the name of one of the paper's is not the paper's
        is_printed = study.shows_printed or landmark == MEAN
        names["setting"] = f"{codebook.setting};landmark={landmark}" if is_printed else ""
        names |= {"metric": quantity, "method": method}
        records.append({**names, **study.cell(codebook.id, landmark, method, quantity, FORMS[quantity])})
    printed = study.printed_in()
    printed = printed.assign(method=printed["method"].replace(PRINTED_METHOD))
    if not study.shows_printed:
        # the paper prints no mean of sparsity and time
        means = [{"method": method, "value": study.printed_mean(codebook, method, quantity)} for method in methods]
        of_all = {"setting": f"{codebook.setting};landmark={MEAN}", "metric": quantity, "note": ""}
        printed = pd.concat([printed, pd.DataFrame(means).assign(**of_all).dropna(subset="value")], ignore_index=True)
    cells = beside_print(pd.DataFrame(records), printed, judge=study.judge(codebook))
    form = "{:,.4g}" if quantity == TRAIN_TIME else "{:.2f}"
    cells["printed_cell"] = ["" if math.isnan(value) else form.format(value) for value in cells["printed"]]
    return cells.assign(unit="seconds" if quantity == TRAIN_TIME else "percent")


def mean_title(quantity: str) -> str:
    """Return what the mean over landmarks is called."""
    return "mAP" if quantity == MAP else MEAN


def time_notes(study: LandmarkStudy) -> tuple[str, ...]:
    """Say on what the times were taken, and why they get no verdict."""
    fits = study.table("fits")
    processors = " and ".join(sorted(set(fits["processor"].dropna()))) or "a processor that was not recorded"
    return (
        f"Ours ran on one thread of {processors}, maybe beside other jobs.",
        "Times get no verdict: the paper's are of another machine and other programs. Our OASIS (with a diagonal "
        "matrix, whose steps touch few weights) and our QPAO (reconstructed) may not even be the same algorithms.",
    )


percent = partial(plus_minus, form=".2f")
FORMS: Mapping[str, Form] = {MAP: percent, SPARSITY: percent, TRAIN_TIME: significant}


def lead_points(study: LandmarkStudy) -> pd.DataFrame:
    """Return S-TG and S-DA minus OASIS in points of mAP: a row a codebook, method, and printed or chosen constants."""
    results = study.table("results")
    features = results[results["metric"] == FEATURES].set_index("setting")["value"]
    records = []
    for (setting, n_features), (first, second) in product(features.items(), PAIRS):
        if rows := study.contrasts.intervals(str(setting), MAP_FULL, first, second):
            parts = dict(part.split("=") for part in str(setting).split(";"))
            names = {"words": int(parts["words"]), "features": parts["features"], "n_features": n_features}
            names |= {"method": AS_IN_PRINT.get(first, first), "constants": CONSTANTS[first in AS_IN_PRINT]}
            ends = {"low": min(row.low for row in rows), "high": max(row.high for row in rows)}
            records.append({**names, "mean": rows[0].mean, **ends, "n": rows[0].n, "ours_cell": wording.gap(rows)})
    return pd.DataFrame(records).sort_values(["words", "n_features"], kind="stable", ignore_index=True)


def lead_notes(study: LandmarkStudy, points: pd.DataFrame) -> tuple[str, ...]:
    """Say where S-TG is below OASIS, what the intervals are of, and how constants were chosen."""
    below = select(points, method="soml-tg", constants=CONSTANTS[False])
    sizes: dict[int, list[str]] = {}
    for row in rows_in(below[below["mean"] < 0]):
        sizes.setdefault(row.words, []).append(row.features)
    places = ", ".join(f"with {words:,} words and {features_title(' or '.join(n))}" for words, n in sizes.items())
    chosen_draws = study.lead.chosen_draws if study.lead is not None else 0
    return (
        f"With printed constants, S-TG is {f'below OASIS {places}' if places else 'above OASIS everywhere'}.",
        f"Whole images are queries. Intervals are {INTERVAL}.",
        f"Means are over {study.learning.draws} draws, with chosen constants over {chosen_draws}. Chosen constants are "
        "the best of eight settings of each method, by images held out of those to learn from.",
    )


def features_title(features: str) -> str:
    """Return ``1,600 features`` of ``1600``; other words stay as they are."""
    return f"{int(features):,} features" if features.isdecimal() else f"{features} features"


def lead_columns(study: LandmarkStudy) -> dict[tuple[str, str], str]:
    """Return kind of constants and method to the title of what they give."""
    pairs = product(CONSTANTS, LEADING)
    return {(constants, method): f"{study.title_of(method)}, {constants} constants" for constants, method in pairs}


@exhibit("landmark/lead", title="SOML minus OASIS over words and features", needs=("results",), when=_has_lead)
def lead_over_features(study: LandmarkStudy) -> Figure:
    """How far S-TG and S-DA are above OASIS in mean average precision, by visual words and features of a photograph."""
    points, columns = lead_points(study), lead_columns(study)
    sizes = list(dict.fromkeys(points["words"]))
    looks = looks_of([f"{words:,} words" for words in sizes])
    counts = points.drop_duplicates("features")
    ticks = tuple((row.n_features, row.features) for row in rows_in(counts))
    x = Axis("Features of a photograph, at most", "log", ticks=ticks, text="{:,.0f} features on average")
    room = 0.05 * (points["high"].max() - points["low"].min())
    ends = {"low": points["low"].min() - room, "high": points["high"].max() + room}
    panels = []
    for (constants, method), title in zip(columns, lettered(list(columns.values())), strict=True):
        own = {"constants": constants, "method": method}
        series = [
            Series(name, {**own, "words": words}, "n_features", "mean", look, "low", "high", aside=0.025 * (place - 1))
            for place, (words, (name, look)) in enumerate(
                zip(dict.fromkeys(points["words"]), looks.items(), strict=True)
            )
        ]
        y = Axis(f"{study.title_of(method)} minus OASIS (points of mAP)", **ends, text="{:+.1f}")
        panels.append(Panel(title, x, y, tuple(series), (Line("OASIS", 0, Look(BLACK, "", "--")),)))
    frame = points.drop(columns="ours_cell")
    return Figure(frame, tuple(panels), notes=lead_notes(study, points), n_columns=len(LEADING), size=(3.4, 2.6))


@exhibit("landmark/lead_numbers", title="SOML minus OASIS, in numbers", needs=("results",), when=_has_lead)
def lead_numbers(study: LandmarkStudy) -> Table:
    """How far S-TG and S-DA are above OASIS in mean average precision, in points, by visual words and features."""
    points, columns = lead_points(study), lead_columns(study)
    titles = {
        "words": {words: f"{words:,} words" for words in points["words"]},
        "features": {name: features_title(name) for name in points["features"]},
        "column": {" ".join(key): title for key, title in columns.items()},
    }
    frame = points.assign(column=points["constants"] + " " + points["method"], ours=points["mean"], unit="points")
    return Table(frame, ("features",), "column", "words", titles=titles, notes=lead_notes(study, points))


@exhibit(
    "landmark/montage",
    title="First results before and after learning",
    needs=("manifest", "queries", "relevance", "images", "ranks"),
    when=lambda study: study.compared_methods(),
)
def first_results(study: LandmarkStudy) -> Gallery:
    """What a query finds before learning (TF-IDF) and after it, where learning gains the most and loses the most."""
    return montage.montage(study)
