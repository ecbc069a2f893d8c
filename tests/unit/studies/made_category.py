"""A small category study, made by hand: its numbers are given as tables, only its images are on the disk."""

import hashlib
from unittest.mock import patch

import contract
import numpy as np
import pandas as pd
from contract import NOT_RUN, printed, with_tables
from PIL import Image

from lookalike.core.files import write_json
from lookalike.exhibits.registry import Exhibit, exhibits_of
from lookalike.exhibits.results import results_frame
from lookalike.learners import Euclidean
from lookalike.ranking.rankings import rank_leave_one_out
from lookalike.studies.category import contrasts
from lookalike.studies.category.results import Gathered, results_of, times_of
from lookalike.studies.rooms import study_of

NOISE = (-0.002, -0.001, 0.0, 0.001, 0.002)
"""What folds add to a level; alike for all methods unless turned round."""
UNFINISHED = "choosing and fitting took more than 600 s, in the final fit"
CLASSES = [f"{n:03d}.class" for n in range(20)]
JMLR, DRAFT = "oasis-jmlr-2010", "oasis-2009-draft"
VAR10 = {"title": "Var10", "classes": CLASSES[:10], "printed": {JMLR: "classes=10", DRAFT: "var10"}}
VAR20 = {"title": "Var20", "classes": CLASSES, "printed": {JMLR: "classes=20", DRAFT: "var20"}}
PUBLISHED = {"var10": CLASSES[:10], "var20": CLASSES[10:]}
PSD = {"psd-end": None, "psd-1000": 1000, "psd-100": 100}
"""Ways of projecting; neither names nor order tell how often they do."""
SECTION = {
    "representation": "words1000",
    "subsets": {"var10": VAR10},
    "methods": ["oasis", "mcml", "lego", "lmnn", "euclidean"],
    "set_aside": ["rca", "rca-full"],
    "variants": ["oasis-proj", "oasis-online-proj", "oasis-dissim", "oasis-psd"],
    "timed": ["lmnn-naive", "oasis-rows"],
    "minima": ["lmnn-factor"],
    "equal": {"oasis": "oasis-equal", "lmnn": "lmnn-equal"},
    "projected": list(PSD),
    "rankers": {"averages": [2, 5]},
    "transfer": {},
    "few_images": {"images": [5, 20], "methods": ["oasis", "oasis-psd"]},
}
METHODS = {method: {} for role in SECTION.values() if isinstance(role, list) for method in role}
METHODS |= {method: {"trace": {}} for method in ("oasis", "mcml", *SECTION["equal"].values())}
METHODS |= {
    method: {"trace": {}, "parameters": {"projection_interval": interval} if interval else {}}
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


def study(metrics=(), exhibit="", claims=(), *, fits=NO_FITS, tables=None, files=None, **section):
    """The study with rows of numbers (`scores`, `curve`), tables by name, and settings that differ from the usual.

    Its results are made of these numbers and of what fits recorded.
    """
    fits = pd.concat([NO_FITS, fits.assign(representation="words1000")])
    given = dict(tables or {})
    kind, stand_in = section.pop("kind", "caltech256"), section.pop("stand_in", False)
    representation, specs = section.pop("representation", {}), section.pop("specs", {})
    shared = {
        "seed": 7,
        "datasets": {"toys": {"title": "toys", "kind": kind, "stand_in": stand_in}},
        "methods": {method: {"learner": "OASIS", **spec} for method, spec in (METHODS | specs).items()},
        "representations": {"words1000": {"descriptor": "lbp", "words": 1000, **representation}},
    }
    toys = study_of("category", "toys", {"study": SECTION | section, "shared": shared})
    vars(toys)["published"] = PUBLISHED
    manifest, selections = given.get("manifest", NO_IMAGES), given.pop("selections", NO_SELECTIONS)
    about = Gathered(**toys.params("gather"))
    results = results_of(results_frame(list(metrics)), fits, manifest, about)
    given = {"results": results, "times": times_of(fits, selections, about), **given}
    names = {name: f"{name}.parquet" for name in given} | (files or {})
    toys.finished(names, printed("category"), list(claims))
    if exhibit:
        toys = toys.drawing(exhibits_of("category").get(exhibit) or Exhibit(id=exhibit, study="category", title=""))
    return with_tables(toys, **given)


def contrasted(toys, queries=None):
    """A study with its contrasts; average precision of queries, by subset and method, stands for rankings."""
    with patch.object(contrasts, "precisions_of_queries", lambda study: queries or {}):
        return contract.contrasted("category", toys)


def row(method, metric, fold, value, x=np.nan, subset="var10"):
    names = {"setting": subset, "method": method.replace("_", "-"), "repeat": str(fold)}
    return {**names, "metric": metric, "x": x, "value": value}


def scores(metric="map", turned=(), subset="var10", **levels):
    """A number of five folds at a level a method; `turned` methods have the folds' noise the other way round."""
    return [
        row(method, metric, fold, level + (-10 * noise if method in turned else noise), subset=subset)
        for method, level in levels.items()
        for fold, noise in enumerate(NOISE)
    ]


def curve(method, values, metric="traced_map", subset="var10", steps=None, noisy=True):
    """A traced number of five folds at the steps 0, 1000, 2000, ..."""
    return [
        row(method, metric, fold, value + noise * noisy, x, subset)
        for x, value in zip(steps or range(0, 1000 * len(values), 1000), values, strict=True)
        for fold, noise in enumerate(NOISE)
    ]


def fits(subset="var10", **columns):
    """Return what five fits of OASIS recorded, or, with a mapping of methods, of these."""
    rows = [
        {"subset": subset, "method": method.replace("_", "-"), "fold": fold, column: value}
        for column, values in columns.items()
        for method, value in (values if isinstance(values, dict) else {"oasis": values}).items()
        for fold in range(5)
    ]
    return pd.DataFrame(rows).groupby(["subset", "method", "fold"], as_index=False).first()


def against(**differences):
    """Numbers of OASIS, and of methods that it is so much above."""
    return scores(oasis=0.4, **{method: 0.4 - difference for method, difference in differences.items()})


def images(folder):
    """Tables and files of twelve images, half black and half noise.

    Before learning their neighbours are random, after it those of their class.
    """
    rng, paths = np.random.default_rng(0), [f"{id}.png" for id in IDS]
    for path in paths:
        image = np.zeros((224, 300, 3), np.uint8)
        image[:, 150:] = rng.integers(0, 256, (224, 150, 3))
        Image.fromarray(image).save(folder / path)
    sums = [hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in paths]
    columns = {"image_id": IDS, "path": paths, "label": LABELS, "sha256": sums, "status": "ok"}
    manifest = pd.DataFrame(columns | {"width": 300, "height": 224})
    files = {"ranks": [str(folder / f"ranks-{number}.npz") for number in range(2)]}
    noise = np.random.default_rng(3).random((12, 4))
    learned = np.hstack([0.1 * noise, LABELS[:, None] == np.unique(LABELS)])
    for X, file in zip((noise, learned), files["ranks"], strict=True):
        rank_leave_one_out(Euclidean().fit(X), X, LABELS, query_ids=IDS).save(file)
    write_json({"root": str(folder)}, folder / "images.json")
    return {"manifest": manifest, "pool": manifest.iloc[[1, 2]]}, files | {"images": str(folder / "images.json")}


LEVELS = {"oasis": 0.33, "lego": 0.27, "euclidean": 0.23}
CANDIDATES = (
    pd.DataFrame(scores(oasis_equal=0))
    .rename(columns={"setting": "subset", "repeat": "fold"})[["subset", "method", "fold"]]
    .assign(aggressiveness=0.3, step=100, map=0.25)
)


def study_with_all(tables=None, **more):
    at_minimum = {"lmnn_factor": 0.2}
    rows = scores(**LEVELS, **at_minimum) + scores("train_map", **LEVELS, **at_minimum)
    k = np.arange(1, 100)
    for method, level in {**LEVELS, "oasis-proj": 0.32}.items():
        rows += curve(method, 1.5 * level * np.exp(-k / 80), "p@k", steps=k.tolist())
    rows += scores("map of new classes", oasis=0.29, euclidean=0.3) + scores(oasis_psd=0.4)
    rows += curve("oasis", (0.2, 0.25), "map of few images", steps=(5, 20))
    rows += scores(oasis_equal=0.34, lmnn_equal=0.3) + scores("train_map", lmnn_equal=0.5)
    for method in ("oasis", "mcml", "lmnn", *PSD):
        rows += curve(method, (0.23, 0.3, 0.33)) + curve(method, (0.23, 0.5, 0.9), "traced_train_map")
    for method in ("ranker 0", "ranker 1", "average of 2"):
        rows += curve(method, (0.23, 0.28, 0.3), "ranker_map")
    fitted = ("oasis", "lego", "mcml", "lmnn-factor", "lmnn-equal")
    alike = {"n_words": 1000, "nonzeros_per_image_train": 50.0, "n_classes": 10}
    of_oasis = {"symmetry_index": 0.95, "aggressiveness": 0.1, "n_steps": 1000.0, "at_grid_edge": True}
    times, ended = {"oasis": 6.0, "lego": 60.0, "mcml": 600.0}, {"oasis": True, "lego": False}
    some = {"cpu_seconds_fit": times, "converged": ended, "objective_share": {"lmnn-factor": 0.012, "lmnn-equal": 0.4}}
    some["not_converged"] = {"mcml": UNFINISHED}
    recorded = fits(**some, **of_oasis, **{name: dict.fromkeys(fitted, value) for name, value in alike.items()})
    manifest = pd.DataFrame({"status": ["ok", "ok", "small"], "label": ["a", "b", "b"]})
    given = {"manifest": manifest, "selections": CANDIDATES} | (tables or {})
    images = np.linspace(-0.1, 0.1, 9)
    queries = {("var10", method): {0: pd.Series(level + 0.1 * level * images)} for method, level in LEVELS.items()}
    return contrasted(study(rows, fits=recorded, tables=given, **more), queries)


def example(folder):
    """A study with all kinds of numbers and pictures, and one that was not run."""
    tables, files = images(folder)
    return study_with_all(tables=tables, files=files), study().finished({}, not_run=NOT_RUN)
