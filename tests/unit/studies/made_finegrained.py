"""Made-up numbers of a fine-grained study, in the shapes that the workflow writes, and small images of one."""

import numpy as np
import pandas as pd
from contract import ABSENT, finished, photographs

from lookalike.core.files import write_array
from lookalike.data.relevance import RelevanceData
from lookalike.exhibits.results import results_frame
from lookalike.ranking import triplet_metrics
from lookalike.studies.finegrained.contrasts import claimed_pairs, contrasts_of
from lookalike.studies.finegrained.results import of_curve, of_fits, of_levels
from lookalike.studies.finegrained.systems import BY_CLASS, DEEP, TABLE1, TABLE2, is_network, training_name
from lookalike.studies.rooms import study_of

NONE, UNIFORM = "multiscale-weighted-000", "multiscale-uniform-000"
SHARES = {NONE: (84.0, 7.3), "multiscale-weighted-050": (85.9, 6.6)}
SHARES |= {"multiscale-weighted-100": (85.5, 6.0), UNIFORM: (84.2, 6.7)}
PRECISIONS = [62.2, 62.3, 65.5, 67.2, 68.4, 66.5, 76.2, 79.2, 80.3, 85.7, 82.8, 84.6, 82.5, 84.1]
SCORES = [2735, 2935, 2863, 3064, 3099, 3556, 6356, 6813, 7165, 7004, 5772, 6245, 6263, 6765]
SYSTEMS = [*TABLE1, *TABLE2[:-1]]
LEVELS = dict(zip(SYSTEMS, zip(PRECISIONS, (score / 1000 for score in SCORES), strict=True), strict=True)) | SHARES
"""System to its precision and its score in thousands, as the paper prints them where it does."""
KINDS, REACH = ("in-class", "out-of-class"), 0.3
"""Kinds of negatives, and how far the interval of a precision reaches, in points."""
REAL = {"kind": "triplets", "title": "our triplets"}
"""Settings of triplets that people rated."""
FITS = {
    "deep-ranking": {"n_steps": 450, "kept_step": 300, "settings": {"batch": 32}, "finished": True},
    "l1hashkpca": {"dimensions": 128},
}
"""How a training of DeepRanking ended, and what the paper's text tells of an embedding."""


def toy_numbers(levels, k, seeds):
    """Return what a bootstrap gives of levels and all pairs; kinds of negatives differ by 6 points in precision."""
    rows, names = [], triplet_metrics.metric_names(k)
    for system, (precision, thousands) in levels.items():
        for subset, shift in (("all", 0), *zip(KINDS, (-6, 6), strict=True)):
            n = 14_000 if subset == "all" else 7_000
            score = thousands * n / 14
            values = (precision + shift, REACH), (score, 2 * REACH * n / 100), (100 * score / n, 2 * REACH)
            about = {"system": system, "subset": subset, "n_triplets": n, "n_queries": n // 4, "median_pool": 1_000}
            about["n_seeds"] = seeds if is_network(system) else 1
            for metric, (value, own) in zip(names, values, strict=True):
                rows.append(about | {"metric": metric, "value": value, "low": value - own, "high": value + own})
    frame = pd.DataFrame(rows)
    keys = ["subset", "metric", "n_queries"]
    pairs = frame.merge(frame, on=keys, suffixes=("_a", "_b")).query("system_a != system_b")
    gap, own = pairs["value_a"] - pairs["value_b"], np.where(pairs["metric"] == names[1], 140 * REACH, REACH)
    pairs = pairs.assign(difference=gap, low=gap - own, high=gap + own, p_value=np.where(gap.abs() <= own, 0.6, 0.001))
    return frame, pairs[list(triplet_metrics.CONTRAST_COLUMNS)]


def toy_curves():
    """Curves of a network that classifies and of three that rank, by system."""
    place = np.arange(1, 21)
    rise, noise = 1 - np.exp(-place / 5), np.random.default_rng(1).normal(0, 0.006, 20)
    curve = {"seen": 3_200 * place, "loss": 0.5 - 0.3 * rise, "validation_loss": 0.5 - 0.25 * rise + noise}
    curve |= {"triplet_accuracy": 0.6 + 0.3 * rise, "validation_precision": 0.6 + 0.25 * rise + noise}
    names = {"triplet_accuracy": "accuracy", "validation_precision": "validation_accuracy"}
    curves = {system: pd.DataFrame(curve) for system in ("convnet", "single-scale-ranking", DEEP, NONE)}
    return curves | {"convnet": curves["convnet"].rename(columns=names)}


def given(*, kind="synthetic_triplets", title="demo triplets", seed=1, surroundings=(), **section):
    """The study that a job for exhibits is given, of a section in which some keys are other than usual."""
    found = {"images_folder": ".", "has_training": True, "has_torch": True, "is_graded": True} | dict(surroundings)
    shared = {"seed": seed, "datasets": {"made": {"kind": kind, "title": title}}}
    own = study_of("finegrained", "made", {"study": {"network": {}} | section, "shared": shared})
    vars(own).update(found)
    return own


def study(levels=LEVELS, *, seeds=3, curves=(), fits=(), tables=(), files=(), **settings):
    """The study of these numbers, as if a bootstrap had given them; every seed of a network has the same ones."""
    own = given(**settings)
    levels, pairs = toy_numbers(levels, own.score.k, seeds)
    trained = levels.loc[levels.index.repeat(levels["n_seeds"])]
    seed = trained.groupby(["system", "subset", "metric"]).cumcount() + 1
    trained = trained.assign(system=list(map(training_name, trained["system"], seed)))
    curves = [of_curve(name, curve) for name, curve in dict(curves).items()]
    parts = [of_levels(trained, own.score.k), pd.DataFrame(list(of_fits(dict(fits), 14_000))), *curves]
    results = results_frame(pd.concat(parts, ignore_index=True).assign(study="finegrained"))
    own = finished(own, {"results": results, **dict(tables)}, files)
    claimed = set(claimed_pairs(own))
    pairs = pairs[[pair in claimed for pair in zip(pairs["system_a"], pairs["system_b"], strict=True)]]
    own.contrasted_by(contrasts_of(own, levels, pairs))
    return own


CATEGORIES = ("001.mug", "002.dog", "003.fern", "004.bus")
PER_CATEGORY = 10
N_MADE = len(CATEGORIES) * PER_CATEGORY
QUERIES = list(zip(range(0, N_MADE, PER_CATEGORY), CATEGORIES, strict=True))


def toy_triplets():
    """Two triplets of the first image of each category, one of each kind."""
    rows = [
        (query, query + 1, (query + further) % N_MADE, label, kind)
        for query, label in QUERIES
        for kind, further in zip(KINDS, (2, PER_CATEGORY), strict=True)
    ]
    columns = ["query", "positive", "negative", "text_query", "kind"]
    return pd.DataFrame(rows, columns=columns).rename_axis("triplet").reset_index()


def toy_pairs():
    """The pool of a text query: the first five images of its category and one of the next; one pair beside it."""
    steps = (*range(1, 6), PER_CATEGORY, 9)
    rows = [(label, query, (query + step) % N_MADE, step != 9) for query, label in QUERIES for step in steps]
    return pd.DataFrame(rows, columns=["text_query", "query", "candidate", "in_pool"])


def toy_outcomes():
    """Which triplets two systems have right: shares of 0, 1/2 and 1 of the queries 0, 10, 20, 30."""
    right = {"convnet": (0, 0, 0, 1, 1, 1, 0, 1), "deep-ranking": (1, 1, 1, 1, 0, 0, 0, 1)}
    rows = [(system, triplet, float(own)) for system, owns in right.items() for triplet, own in enumerate(owns)]
    return pd.DataFrame(rows, columns=["system", "triplet", "outcome"])


MEASURED = ("convnet", "oasis", "deep-ranking")


def study_of_images(folder, levels=None, *, systems=MEASURED, outcomes=None, files=(), **settings):
    """The study of these images; distances rise along the pairs for OASIS, and fall for the networks."""
    pairs, distances = toy_pairs(), []
    for system in systems:
        path = folder / "systems" / system / "distances.npy"
        write_array(np.arange(len(pairs), dtype=np.float32)[:: 1 if system == "oasis" else -1], path)
        distances.append(str(path))
    labels = np.repeat(CATEGORIES, PER_CATEGORY)
    manifest, _ = photographs(folder, [f"{label}/{number}.png" for number, label in enumerate(labels)])
    tables = {"manifest": manifest.assign(label=labels), "triplets": toy_triplets(), "pairs": pairs}
    tables["outcomes"] = toy_outcomes() if outcomes is None else outcomes
    found = {"images_folder": str(folder / "images")}
    settings = {"kind": BY_CLASS, "surroundings": found, "fits": FITS} | settings
    files = {"distances": distances, **dict(files)}
    return study(levels or {"oasis": (80.0, 7.0)}, tables=tables, files=files, **settings)


def toy_relevance(folder, *, graded=True):
    """Graded relevance within each category, image ids as in the manifest; or none. Returns it, and its file."""
    drawn = np.random.default_rng(3).uniform(0.1, 1, (len(CATEGORIES), PER_CATEGORY, PER_CATEGORY))
    grades = (drawn + drawn.transpose(0, 2, 1)) * (1 - np.eye(PER_CATEGORY))
    blocks, labels = dict(zip(CATEGORIES, grades, strict=True)), np.repeat(CATEGORIES, PER_CATEGORY)
    data = RelevanceData.from_blocks(np.arange(N_MADE), labels, blocks)
    if not graded:
        data = RelevanceData.from_pairs([0, 1], ["a", "b"], [], [], [])
    data.save(folder / "relevance.npz")
    return data, {"relevance": str(folder / "relevance.npz")}


def toy_filters(folder):
    """File of the filters of two paths, of which the ConvNet's are those before training."""
    random = np.random.default_rng(0)
    filters = {path: random.normal(size=(5, 3, 3, 3)).astype(np.float32) for path in ("every-4th-pixel", "convnet")}
    starts = {"start/convnet": filters["convnet"], "start/every-4th-pixel": filters["convnet"]}
    np.savez(folder / "filters.npz", **filters, **starts)
    return {"filters": str(folder / "filters.npz")}


def example(folder):
    """A study of images that people rated, with all kinds of numbers and pictures, and one that was not run."""
    files = toy_filters(folder) | toy_relevance(folder)[1]
    whole = study_of_images(folder, LEVELS, curves=toy_curves(), files=files, **REAL)
    return whole, finished(given(title="our triplets"), not_run=ABSENT)
