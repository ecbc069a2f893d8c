"""Made-up numbers of a fine-grained study, in the shapes that the workflow writes, and a study of them."""

import re
from itertools import product

import numpy as np
import pandas as pd
from contract import printed, with_tables
from PIL import Image

from lookalike.core.files import write_array, write_table
from lookalike.data.relevance import RelevanceData
from lookalike.exhibits.contrasts import contrasts_frame
from lookalike.exhibits.results import results_frame
from lookalike.ranking.triplet_metrics import CONTRAST_COLUMNS
from lookalike.studies.finegrained.contrasts import contrasts_of
from lookalike.studies.finegrained.results import UNITS, of_curve, of_fits
from lookalike.studies.finegrained.systems import BY_CLASS, DEEP, TABLE1, TABLE2, contrast_pairs, is_network
from lookalike.studies.rooms import room_exhibits, study_of

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


def toy_intervals(levels=None, *, n_triplets=14_000, pool=1_000, reach=0.8, kinds=KINDS, seeds=3):
    """Rows of every system; precision differs by 6 points on either side between the kinds of negatives."""
    rows = []
    for system, (precision, thousands) in (levels or LEVELS).items():
        for subset, shift in (("all", 0), *zip(kinds, (-6, 6), strict=False)):
            n = n_triplets if subset == "all" else n_triplets // 2
            score = 1000 * thousands * n / 14_000
            numbers = {
                "similarity_precision": (precision + shift, reach),
                "score@30": (score, 2 * reach * n / 100),
                "score@30_per_triplet": (100 * score / n, 2 * reach),
            }
            counts = (n, n // 4, 3, pool, int(0.7 * n), seeds if is_network(system) else 1)
            rows += [(system, subset, metric, *number, *counts) for metric, number in numbers.items()]
    columns = ["system", "subset", "metric", "value", "reach", "n_triplets", "n_queries", "n_ties"]
    frame = pd.DataFrame(rows, columns=[*columns, "median_pool", "n_in_top", "n_seeds"])
    return frame.assign(low=frame["value"] - frame["reach"], high=frame["value"] + frame["reach"])


def toy_contrasts(levels=None, *, n_triplets=14_000, reach=0.8, kinds=KINDS):
    """Differences of `toy_intervals` for every pair that a claim needs."""
    levels, rows = levels or LEVELS, []
    for (a, b), subset in product(contrast_pairs(levels), ("all", *kinds)):
        points, score = levels[a][0] - levels[b][0], (levels[a][1] - levels[b][1]) * n_triplets / 14
        rows.append((a, b, subset, "similarity_precision", points, reach))
        rows.append((a, b, subset, "score@30", score, reach * n_triplets / 100))
        rows.append((a, b, subset, "score@30_per_triplet", 100 * score / n_triplets, reach))
    frame = pd.DataFrame(rows, columns=["system_a", "system_b", "subset", "metric", "difference", "reach"])
    value, reach = frame["difference"], frame.pop("reach")
    p = np.where(value.abs() <= reach, 0.6, 0.001)
    return frame.assign(low=value - reach, high=value + reach, p_value=p, n_queries=n_triplets // 4)


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
    found = {"folder": ".", "no_training": "", "no_networks": "", "is_graded": True} | dict(surroundings)
    shared = {"seed": seed, "datasets": {"made": {"kind": kind, "title": title}}}
    return study_of("finegrained", "made", {"study": section, "shared": shared, "surroundings": found})


def toy_results(intervals=None, *, curves=None, finished=None, fits=None):
    """Rows of results of these numbers, of every seed alike."""
    rows, counts = [], {}
    for row in (toy_intervals() if intervals is None else intervals).to_dict("records"):
        setting = f"triplets={row['subset']}"
        counts[setting] = {"triplets": row["n_triplets"], "queries": row["n_queries"], "pool": row["median_pool"]}
        # results have one name for scores of any k
        metric = re.sub(r"@\d+", "@30", row["metric"])
        for seed in range(1, row["n_seeds"] + 1):
            name = {"setting": setting, "method": row["system"], "repeat": str(seed), "metric": metric}
            rows.append(name | {"value": row["value"], "unit": UNITS[metric]})
    frame = pd.DataFrame(rows)
    sizes = [
        {"setting": name, "metric": metric, "value": n} for name, own in counts.items() for metric, n in own.items()
    ]
    fits = dict(fits or {}) | {name: {"finished": has_ended} for name, has_ended in (finished or {}).items()}
    n_triplets = next(iter(counts.values()))["triplets"]
    parts = [frame, pd.DataFrame(sizes), pd.DataFrame(list(of_fits(fits, n_triplets)))]
    curves = [of_curve(name, curve) for name, curve in (curves or {}).items()]
    return results_frame(pd.concat([*parts, *curves], ignore_index=True).assign(study="finegrained"))


def toy_study(folder, /, tables, *, files=None, claims=(), **settings):
    """The study of some tables."""
    paths = {name: str(folder / f"{name}.parquet") for name in tables}
    for name, table in tables.items():
        write_table(table, paths[name])
    return given(**settings).finished(paths | (files or {}), PRINTED, claims)


def of_numbers(folder, /, intervals, contrasts=None, *, curves=None, finished=None, fits=None, **settings):
    """The study of these numbers, as if a bootstrap had given them."""
    results = toy_results(intervals, curves=curves, finished=finished, fits=fits)
    study = toy_study(folder, {"results": results}, **settings)
    return bootstrapped(study, intervals, contrasts)


def bootstrapped(study, intervals=None, contrasts=None):
    """A study with the contrasts of these numbers."""
    intervals = toy_intervals() if intervals is None else intervals
    contrasts = pd.DataFrame(columns=list(CONTRAST_COLUMNS)) if contrasts is None else contrasts
    return with_tables(study, contrasts=contrasts_frame(contrasts_of(study, intervals, contrasts)))


def drawn(study, name):
    """Return what one exhibit of a study is, by the name of its files."""
    exhibit = next(item for item in room_exhibits("finegrained").values() if item.name == name)
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
    outcomes=None,
    files=None,
    intervals=None,
    curves=None,
    **settings,
):
    """The study of these images; distances rise along the pairs for OASIS, and fall for the networks."""
    pairs, distances = toy_pairs(), []
    for system in systems:
        path = folder / "systems" / system / "distances.npy"
        write_array(np.arange(len(pairs), dtype=np.float32)[:: 1 if system == "oasis" else -1], path)
        distances.append(str(path))
    intervals = toy_intervals({"oasis": (80.0, 7.0)}) if intervals is None else intervals
    tables = {"manifest": toy_images(folder / "images"), "triplets": toy_triplets(), "pairs": pairs}
    tables |= {"outcomes": toy_outcomes() if outcomes is None else outcomes}
    tables |= {"results": toy_results(intervals, curves=curves, fits=FITS)}
    found = {"folder": str(folder / "images")} | settings.pop("surroundings", {})
    files = {"distances": distances, **(files or {})}
    study = toy_study(folder, tables, files=files, surroundings=found, **{"kind": BY_CLASS} | settings)
    return bootstrapped(study, intervals, toy_contrasts())


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
