"""Made-up numbers of a fine-grained study, in the shapes that the workflow writes, and a study of them."""

from types import MappingProxyType

import numpy as np
import pandas as pd
from contract import NOT_RUN, claims, printed
from PIL import Image

from lookalike.core.files import write_array, write_table
from lookalike.data.relevance import RelevanceData
from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.results import results_frame
from lookalike.ranking import triplet_metrics
from lookalike.studies.finegrained.contrasts import claimed_pairs, contrasts_of
from lookalike.studies.finegrained.results import of_curve, of_fits, of_levels
from lookalike.studies.finegrained.systems import BY_CLASS, DEEP, TABLE1, TABLE2, is_network, training_name
from lookalike.studies.rooms import study_of

CLAIM_ROWS = claims("finegrained")
PRINTED = printed("finegrained")
NONE, UNIFORM = "multiscale-weighted-000", "multiscale-uniform-000"
SHARES = {NONE: (84.0, 7.3), "multiscale-weighted-050": (85.9, 6.6)}
SHARES |= {"multiscale-weighted-100": (85.5, 6.0), UNIFORM: (84.2, 6.7)}
PRECISIONS = [62.2, 62.3, 65.5, 67.2, 68.4, 66.5, 76.2, 79.2, 80.3, 85.7, 82.8, 84.6, 82.5, 84.1]
SCORES = [2735, 2935, 2863, 3064, 3099, 3556, 6356, 6813, 7165, 7004, 5772, 6245, 6263, 6765]
SYSTEMS = [*TABLE1, *TABLE2[:-1]]
LEVELS = dict(zip(SYSTEMS, zip(PRECISIONS, (score / 1000 for score in SCORES), strict=True), strict=True)) | SHARES
"""System to its precision and its score in thousands, as the paper prints them where it does."""
KINDS = ("in-class", "out-of-class")
REAL = {"kind": "triplets", "title": "rated triplets"}
"""Settings of triplets that people rated."""


def toy_numbers(levels, k=30, *, reach=0.8, kinds=KINDS, seeds=3):
    """Return what a bootstrap gives of levels and all pairs; kinds of negatives differ by 6 points in precision."""
    rows, names = [], triplet_metrics.metric_names(k)
    for system, (precision, thousands) in levels.items():
        for subset, shift in (("all", 0), *zip(kinds, (-6, 6), strict=False)):
            n = 14_000 if subset == "all" else 7_000
            score = thousands * n / 14
            values = (precision + shift, reach), (score, 2 * reach * n / 100), (100 * score / n, 2 * reach)
            counts = {"n_triplets": n, "n_queries": n // 4, "median_pool": 1_000}
            counts["n_seeds"] = seeds if is_network(system) else 1
            for metric, (value, own) in zip(names, values, strict=True):
                about = {"system": system, "subset": subset, "metric": metric, "value": value}
                rows.append(about | {"low": value - own, "high": value + own} | counts)
    frame = pd.DataFrame(rows)
    keys = ["subset", "metric", "n_queries"]
    pairs = frame.merge(frame, on=keys, suffixes=("_a", "_b")).query("system_a != system_b")
    pairs["difference"] = pairs["value_a"] - pairs["value_b"]
    own = pairs["metric"].map(dict(zip(names, (reach, 140 * reach, reach), strict=True))).astype(float)
    pairs = pairs.assign(low=pairs["difference"] - own, high=pairs["difference"] + own)
    pairs["p_value"] = np.where(pairs["difference"].abs() <= own, 0.6, 0.001)
    return frame, pairs[list(triplet_metrics.CONTRAST_COLUMNS)]


FITS = {
    "deep-ranking": {"n_steps": 450, "kept_step": 300, "settings": {"batch": 32}, "finished": True},
    "l1hashkpca": {"dimensions": 128},
}
"""How a training of DeepRanking ended, and what the paper's text tells of an embedding."""


def toy_curves():
    """Curves of a network that classifies and of three that rank, by system."""
    place = np.arange(1, 21)
    rise, noise = 1 - np.exp(-place / 5), np.random.default_rng(1).normal(0, 0.006, 20)
    curve = {"seen": 3_200 * place, "loss": 0.5 - 0.3 * rise, "validation_loss": 0.5 - 0.25 * rise + noise}
    curve |= {"triplet_accuracy": 0.6 + 0.3 * rise, "validation_precision": 0.6 + 0.25 * rise + noise}
    ranking = pd.DataFrame(curve)
    names = {"triplet_accuracy": "accuracy", "validation_precision": "validation_accuracy"}
    return {
        "convnet": ranking.rename(columns=names),
        "single-scale-ranking": ranking,
        DEEP: ranking.copy(),
        NONE: ranking,
    }


def given(*, kind="synthetic_triplets", title="demo triplets", seed=1, surroundings=(), **section):
    """The study that a job for exhibits is given, of a section in which some keys are other than usual."""
    found = {"folder": ".", "has_training": True, "has_torch": True, "is_graded": True} | dict(surroundings)
    shared = {"seed": seed, "datasets": {"made": {"kind": kind, "title": title}}}
    return study_of(
        "finegrained", "made", {"study": {"network": {}} | section, "shared": shared, "surroundings": found}
    )


def toy_results(levels, k=30, *, curves=None, finished=None, fits=None):
    """Rows of results of these numbers, of every seed alike."""
    trained = levels.loc[levels.index.repeat(levels["n_seeds"])]
    seeds = trained.groupby(["system", "subset", "metric"]).cumcount() + 1
    trained = trained.assign(system=list(map(training_name, trained["system"], seeds)))
    fits = dict(fits or {}) | {name: {"finished": has_ended} for name, has_ended in (finished or {}).items()}
    curves = [of_curve(name, curve) for name, curve in (curves or {}).items()]
    parts = [of_levels(trained, k), pd.DataFrame(list(of_fits(fits, 14_000))), *curves]
    return results_frame(pd.concat(parts, ignore_index=True).assign(study="finegrained"))


def toy_study(folder, /, tables, *, files=None, **settings):
    """The study of some tables, with all claims of its paper."""
    paths = {name: str(folder / f"{name}.parquet") for name in tables}
    for name, table in tables.items():
        write_table(table, paths[name])
    return given(**settings).finished(paths | (files or {}), PRINTED, CLAIM_ROWS)


def of_numbers(
    folder, /, levels=LEVELS, *, tables=(), files=None, results=(), contrasted=True, bootstrap=(), **settings
):
    """The study of these numbers, as if a bootstrap had given them."""
    k = settings.get("score", {}).get("k", 30)
    levels, pairs = toy_numbers(levels, k, **dict(bootstrap))
    tables = dict(tables) | {"results": toy_results(levels, k, **dict(results))}
    study = toy_study(folder, tables, files=files, **settings)
    claimed = set(claimed_pairs(study)) if contrasted else ()
    pairs = pairs[[pair in claimed for pair in zip(pairs["system_a"], pairs["system_b"], strict=True)]]
    study.contrasted_by(contrasts_of(study, levels, pairs))
    return study


def drawn(study, name):
    """Return what one exhibit of a study is, by the name of its files."""
    exhibit = next(item for item in exhibits_of("finegrained").values() if item.name == name)
    return exhibit.draw(study.drawing(exhibit))


CATEGORIES = ("001.mug", "002.dog", "003.fern", "004.bus")
PER_CATEGORY = 10
N_MADE = len(CATEGORIES) * PER_CATEGORY


def toy_triplets():
    """Two triplets of the first image of each category, one of each kind."""
    rows = []
    for query, label in zip(range(0, N_MADE, PER_CATEGORY), CATEGORIES, strict=True):
        rows.append((len(rows), query, query + 1, query + 2, label, "in-class"))
        rows.append((len(rows), query, query + 1, (query + PER_CATEGORY) % N_MADE, label, "out-of-class"))
    return pd.DataFrame(rows, columns=["triplet", "query", "positive", "negative", "text_query", "kind"])


def toy_pairs():
    """The pool of a text query: the first five images of its category and one of the next; one pair beside it."""
    rows = []
    for query, label in zip(range(0, N_MADE, PER_CATEGORY), CATEGORIES, strict=True):
        rows += [(label, query, query + step, True) for step in range(1, 6)]
        rows += [(label, query, (query + PER_CATEGORY) % N_MADE, True), (label, query, query + 9, False)]
    return pd.DataFrame(rows, columns=["text_query", "query", "candidate", "in_pool"])


def toy_outcomes():
    """Which triplets two systems have right: shares of 0, 1/2 and 1 of the queries 0, 10, 20, 30."""
    shares_of = {"convnet": (0.0, 0.5, 1.0, 0.5), "deep-ranking": (1.0, 1.0, 0.0, 0.5)}
    rows = [
        (system, 2 * query + item, share if share != 0.5 else float(item))
        for system, shares in shares_of.items()
        for query, share in enumerate(shares)
        for item in range(2)
    ]
    return pd.DataFrame(rows, columns=["system", "triplet", "outcome"])


def toy_images(folder):
    """Draw ten plain images of each of four categories; their manifest."""
    rows = []
    for code, label in enumerate(CATEGORIES):
        (folder / label).mkdir(parents=True, exist_ok=True)
        for number in range(PER_CATEGORY):
            path = f"{label}/{number:04d}.png"
            Image.fromarray(np.full((12, 16 - number, 3), 60 * code + number, dtype=np.uint8)).save(folder / path)
            rows.append((len(rows), path, label))
    return pd.DataFrame(rows, columns=["image_id", "path", "label"])


def study_of_images(
    folder,
    /,
    *,
    systems=("convnet", "oasis", "deep-ranking"),
    levels=MappingProxyType({"oasis": (80.0, 7.0)}),
    outcomes=None,
    files=None,
    curves=None,
    **settings,
):
    """The study of these images; distances rise along the pairs for OASIS, and fall for the networks."""
    pairs, distances = toy_pairs(), []
    for system in systems:
        path = folder / "systems" / system / "distances.npy"
        write_array(np.arange(len(pairs), dtype=np.float32)[:: 1 if system == "oasis" else -1], path)
        distances.append(str(path))
    tables = {"manifest": toy_images(folder / "images"), "triplets": toy_triplets(), "pairs": pairs}
    tables |= {"outcomes": toy_outcomes() if outcomes is None else outcomes}
    found = {"folder": str(folder / "images")} | settings.pop("surroundings", {})
    files = {"distances": distances, **(files or {})}
    results = {"curves": curves, "fits": FITS}
    return of_numbers(
        folder, levels, tables=tables, files=files, results=results, surroundings=found, **{"kind": BY_CLASS} | settings
    )


def toy_relevance(folder, *, graded=True):
    """Graded relevance within each category, image ids as in the manifest; or none. Returns it, and its file."""
    drawn = np.random.default_rng(3).uniform(0.1, 1, (len(CATEGORIES), PER_CATEGORY, PER_CATEGORY))
    blocks = {
        label: (item + item.T) * (1 - np.eye(PER_CATEGORY)) for label, item in zip(CATEGORIES, drawn, strict=True)
    }
    data = RelevanceData.from_blocks(np.arange(N_MADE), np.repeat(CATEGORIES, PER_CATEGORY), blocks)
    if not graded:
        data = RelevanceData.from_pairs([0, 1], ["a", "b"], [], [], [])
    data.save(folder / "relevance.npz")
    return data, {"relevance": str(folder / "relevance.npz")}


def toy_filters(folder):
    """File of the filters of two paths, of which the ConvNet's are those before training."""
    random = np.random.default_rng(0)
    filters = {path: random.normal(size=(5, 3, 3, 3)).astype(np.float32) for path in ("every-4th-pixel", "convnet")}
    np.savez(folder / "filters.npz", **filters, **{"start/convnet": filters["convnet"]})
    return {"filters": str(folder / "filters.npz")}


def example(folder):
    """A study of images that people rated, with all kinds of numbers and pictures, and one that was not run."""
    files, named = toy_filters(folder) | toy_relevance(folder)[1], REAL | {"title": "our triplets"}
    study = study_of_images(folder, levels=LEVELS, curves=toy_curves(), files=files, **named)
    return study, given(title="our triplets").finished({}, not_run=NOT_RUN)
