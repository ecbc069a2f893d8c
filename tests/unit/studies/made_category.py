"""A small category study, made by hand: its numbers are given as tables, only its images are on the disk."""

from types import SimpleNamespace
from unittest.mock import patch

import contract
import numpy as np
import pandas as pd
from contract import ABSENT, changed_study, finished, photographs

from lookalike.exhibits.results import results_frame
from lookalike.learners import Euclidean
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category import contrasts
from lookalike.studies.category.results import results_of, times_of

NOISE = (-0.002, -0.001, 0.0, 0.001, 0.002)
"""What folds add to a level; alike for all methods."""
UNFINISHED = "choosing and fitting took more than 600 s, in the final fit"
CLASSES = [f"{n:03d}.class" for n in range(20)]
JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"
VAR10 = {"title": "Var10", "classes": CLASSES[:10], "printed": {JMLR: "classes=10", DRAFT: "var10"}}
VAR20 = {"title": "Var20", "classes": CLASSES, "printed": {JMLR: "classes=20", DRAFT: "var20"}}
PSD = {"psd-end": None, "psd-1000": 1000, "psd-100": 100}
"""Ways of projecting; neither names nor order tell how often they do."""
SECTION = {
    "subsets": {"var10": VAR10},
    "minima": ["lmnn-factor"],
    "equal": {"oasis": "oasis-equal", "lmnn": "lmnn-equal"},
    "projected": list(PSD),
    "rankers": {"averages": [2, 5]},
    "transfer": {},
    "few_images": {"images": [5, 20], "methods": ["oasis", "oasis-psd"]},
} | dict.fromkeys(("ablations", "exhibits", "ratings"))
METHODS = {
    method: {"learner": "OASIS", "trace": {}, "parameters": {"projection_interval": interval} if interval else {}}
    for method, interval in PSD.items()
}
# rows are in an order of their own, so that rows are no image ids
IDS = np.random.default_rng(0).permutation(np.arange(100, 124, 2)).astype(np.int32)
LABELS = np.array(["001.mug", "002.dog", "003.fern"])[(IDS - 100) // 8]
KINDS = dict.fromkeys(("representation", "subset", "method", "not_converged"), str) | {"fold": int, "converged": object}
RECORDED = ("n_classes", "n_words", "n_steps", "n_updates", "aggressiveness", "cpu_seconds_fit", "symmetry_index")
KINDS |= dict.fromkeys((*RECORDED, "learned_symmetry", "nonzeros_per_image_train"), float)
NO_FITS = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in KINDS.items()})
NO_IMAGES = pd.DataFrame({"status": pd.Series(dtype=str), "label": pd.Series(dtype=str)})
NO_SELECTIONS = pd.DataFrame({"subset": pd.Series(dtype=str), "fold": pd.Series(dtype=int)})


def settled(*, kind="caltech256", stand_in=False, representation=(), specs=(), **section):
    """The study of the project's settings on Caltech-256, of which some are changed."""
    data = {"title": "toys", "kind": kind, "stand_in": stand_in} | ({} if kind == "caltech256" else {"path": None})
    methods = {id: METHODS.get(id, {}) | dict(specs).get(id, {}) for id in (*METHODS, *dict(specs))}
    shared = {"methods": methods, "representations": {"words1000": representation}}
    toys = changed_study("category", "caltech256", data=data, shared=shared, **SECTION | section)
    vars(toys)["published"] = {"var10": CLASSES[:10], "var20": CLASSES[10:]}
    return toys


def study(numbers=(), *, fits=NO_FITS, tables=(), files=(), queries=(), **settings):
    """The study whose results are made of rows of numbers and of what fits recorded, with its contrasts.

    Average precision of `queries`, by subset and method, stands for rankings.
    """
    fits, given = pd.concat([NO_FITS, fits.assign(representation="words1000")]), dict(tables)
    toys, selections = settled(**settings), given.pop("selections", NO_SELECTIONS)
    about = SimpleNamespace(**toys.params("gather"))
    results = results_of(results_frame(list(numbers)), fits, given.get("manifest", NO_IMAGES), about)
    toys = finished(toys, {"results": results, "times": times_of(fits, selections, about), **given}, files)
    with patch.object(contrasts, "precisions_of_queries", lambda study: dict(queries)):
        return contract.contrasted(toys)


def rows(metric="map", *, steps=(), subset="var10", **levels):
    """A number of five folds at a level a method, or along steps, which are 0, 1000, 2000, ... unless told."""
    found = []
    for method, values in levels.items():
        at = [np.nan] if np.isscalar(values) else steps or range(0, 1000 * len(values), 1000)
        names = {"setting": subset, "method": method.replace("_", "-"), "metric": metric}
        for x, value in zip(at, np.atleast_1d(values), strict=True):
            found += [{**names, "repeat": str(n), "x": x, "value": value + noise} for n, noise in enumerate(NOISE)]
    return found


def fits(subset="var10", **columns):
    """Return what five fits of OASIS recorded, or, with a mapping of methods, of these."""
    rows = [
        {"subset": subset, "method": method.replace("_", "-"), "fold": fold, column: value}
        for column, values in columns.items()
        for method, value in (values if isinstance(values, dict) else {"oasis": values}).items()
        for fold in range(5)
    ]
    return pd.DataFrame(rows).groupby(["subset", "method", "fold"], as_index=False).first()


def images(folder):
    """Tables and files of images, whose neighbours are random before learning, and after it those of their class."""
    manifest, file = photographs(folder, [f"{id}.png" for id in IDS], (300, 224))
    manifest = manifest.assign(image_id=IDS, label=LABELS)
    files = {"images": file, "ranks": [str(folder / f"ranks-{number}.npz") for number in range(2)]}
    noise = np.random.default_rng(3).random((12, 4))
    learned = np.hstack([0.1 * noise, LABELS[:, None] == np.unique(LABELS)])
    for X, file in zip((noise, learned), files["ranks"], strict=True):
        rank_leave_one_out(Euclidean().fit(X), X, LABELS, query_ids=IDS).save(file)
    return {"manifest": manifest, "pool": manifest.iloc[[1, 2]]}, files


LEVELS = {"oasis": 0.33, "lego": 0.27, "euclidean": 0.23}
CANDIDATES = pd.DataFrame({"subset": "var10", "method": "oasis-equal", "fold": range(5)})
CANDIDATES = CANDIDATES.assign(aggressiveness=0.3, step=100, map=0.25)


def study_with_all(tables=(), **more):
    """A study with all kinds of numbers; MCML did not end."""
    k, at_minimum = np.arange(1, 100), {"lmnn_factor": 0.2}
    at_k = {method: 1.5 * level * np.exp(-k / 80) for method, level in (LEVELS | {"oasis_proj": 0.32}).items()}
    equal, traced = {"oasis_equal": 0.34, "lmnn_equal": 0.3}, ("oasis", "mcml", "lmnn", *PSD)
    numbers = [
        *rows(**LEVELS, **at_minimum, **equal, oasis_psd=0.4),
        *rows("train_map", **LEVELS, **at_minimum, lmnn_equal=0.5),
        *rows("p@k", steps=k.tolist(), **at_k),
        *rows("map of new classes", oasis=0.29, euclidean=0.3),
        *rows("map of few images", oasis=(0.2, 0.25), oasis_psd=(0.2, 0.25), steps=(5, 20)),
        *rows("traced_map", **dict.fromkeys(traced, (0.23, 0.3, 0.33))),
        *rows("traced_train_map", **dict.fromkeys(traced, (0.23, 0.5, 0.9))),
        *rows("ranker_map", **dict.fromkeys(("ranker 0", "ranker 1", "average of 2"), (0.23, 0.28, 0.3))),
    ]
    fitted = ("oasis", "lego", "mcml", "lmnn-factor", "lmnn-equal")
    alike = {"n_words": 1000, "nonzeros_per_image_train": 50.0, "n_classes": 10}
    of_oasis = {"symmetry_index": 0.95, "learned_symmetry": 0.95, "aggressiveness": 0.1, "n_steps": 1000.0}
    times, ended = {"oasis": 6.0, "lego": 60.0, "mcml": 600.0}, {"oasis": True, "lego": False}
    some = {"cpu_seconds_fit": times, "converged": ended, "objective_share": {"lmnn-factor": 0.012, "lmnn-equal": 0.4}}
    some |= {"not_converged": {"mcml": UNFINISHED}, "at_grid_edge": True}
    recorded = fits(**some, **of_oasis, **{name: dict.fromkeys(fitted, value) for name, value in alike.items()})
    manifest = pd.DataFrame({"status": ["ok", "ok", "small"], "label": ["a", "b", "b"]})
    given = {"manifest": manifest, "selections": CANDIDATES} | dict(tables)
    spread = np.linspace(0.9, 1.1, 9)
    queries = {("var10", method): {0: pd.Series(level * spread)} for method, level in LEVELS.items()}
    return study(numbers, fits=recorded, tables=given, queries=queries, **more)


def example(folder):
    """A study with all kinds of numbers and pictures, and one that was not run."""
    tables, files = images(folder)
    return study_with_all(tables, files=files), finished(settled(), not_run=ABSENT)
