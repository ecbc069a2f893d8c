"""Made-up numbers of a landmark study in the shapes that the workflow writes: 7 landmarks, 5 draws, 3 codebooks."""

from itertools import product

import numpy as np
import pandas as pd
from contract import NOT_RUN, claims, contrasted, printed, with_tables
from PIL import Image

from lookalike.core.files import write_json
from lookalike.exhibits.results import results_frame, select
from lookalike.exhibits.style import TITLES as PRINTED_TITLES
from lookalike.studies.landmark.rankings import LandmarkRankings
from lookalike.studies.landmark.results import results_of, rows_of_run, times_of
from lookalike.studies.landmark.study import CHOSEN, LANDMARKS
from lookalike.studies.rooms import study_of

WORDS = {"sift-10k": 10_000, "sift-100k": 100_000, "sift-1m": 1_000_000}
SMALL = {"sift-10k": 10_000}
LEARNED = ("qpao", "oasis-diagonal", "soml-tg", "soml-da")
GAIN = {"tfidf": 0.0, "qpao": 0.14, "oasis-diagonal": 0.08, "soml-tg": 0.12, "soml-da": 0.13}
SPARSITY = {"qpao": 0.3, "oasis-diagonal": 0.0, "soml-tg": 0.4, "soml-da": 0.75}
SECONDS = {"tfidf": 0.0, "qpao": 60.0, "oasis-diagonal": 0.8, "soml-tg": 0.06, "soml-da": 0.05}
DRAWS = 5
PARAMETERS = {"qpao": {"C": 10.0}, "soml-tg": {"regularization": 1e-5}}
PARAMETERS |= {"soml-da": {"regularization": 1e-6, "gamma": 1e-4}}
TITLES = {method: PRINTED_TITLES[method] for method in ("tfidf", *LEARNED)}
TITLES |= {chosen: f"{TITLES[method]}, chosen" for method, chosen in CHOSEN.items()}
PAPERS_METHODS = {
    method: {"learner": "SOMLTG", "title": title, "parameters": PARAMETERS.get(method, {})}
    for method, title in TITLES.items()
}
SECTION = {"landmarks": list(LANDMARKS), "methods": ["tfidf", *LEARNED], "learning": {"draws": DRAWS}}
"""The paper's settings on Oxford5K."""
PRINTED, CLAIMS = printed("landmark"), claims("landmark")


def given(*, kind="oxford5k", title="Oxford5K", codebooks=WORDS, **section):
    """The study that a job for exhibits is given, of a section in which some keys are other than the paper's."""
    section = {**SECTION, "codebooks": list(codebooks)} | section
    described = {id: given if isinstance(given, dict) else {"words": given} for id, given in codebooks.items()}
    shared = {"seed": 0, "datasets": {"made": {"kind": kind, "title": title}}, "methods": PAPERS_METHODS}
    settings = {"study": section, "shared": {**shared, "codebooks": described}}
    return study_of("landmark", "made", settings)


def study(tables, files=None, *, not_run="", **changes):
    """A study whose tables are given, by name, as frames: of numbers and records of runs, rows of results are made."""
    own, tables = given(**changes), dict(tables)
    if {"metrics", "fits"} <= set(tables):
        runs = (tables.pop(name) for name in ("metrics", "fits"))
        runs = [select(rows, representation=own.codebooks, subset=own.landmarks) for rows in runs]
        n_landmarks, records = len(own.landmarks), runs[1].to_dict("records")
        rows = results_frame(rows_of_runs(own, runs[0], records))
        lead = [tables["results"]] if "results" in tables else []
        tables["results"] = pd.concat([results_of(rows, records, n_landmarks, 5062), *lead], ignore_index=True)
        tables["times"] = times_of(records, n_landmarks)
    named = {name: name for name in tables} | (files or {})
    found = with_tables(own.finished(named, PRINTED, CLAIMS, not_run), **tables)
    return contrasted("landmark", found) if "results" in tables else found


def rows_of_runs(own, metrics, records):
    """Rows of results of every run, of numbers in a frame; runs without a record ended by themselves."""
    keys = ["representation", "subset", "method", "fold"]
    numbers = {key: run.set_index("metric")["value"].to_dict() for key, run in metrics.groupby(keys)}
    recorded = {tuple(record[key] for key in keys): record for record in records}
    for run in {**numbers, **recorded}:
        fit = {"not_converged": "", "converged": None} | dict(zip(keys, run, strict=True)) | recorded.get(run, {})
        yield from rows_of_run(numbers.get(run, {}), fit | {"n_words": WORDS[run[0]]})


def metrics(gain=None, sparsity=None, *, draws=DRAWS, landmarks=LANDMARKS, codebooks=WORDS):
    """Numbers of every run: learning helps by `gain`, a number or one a landmark."""
    random, gains, rows = np.random.default_rng(0), GAIN if gain is None else gain, []
    keys = product(enumerate(codebooks), enumerate(landmarks), gains, range(draws))
    for (place, codebook), (number, landmark), method, draw in keys:
        own = gains[method][number] if np.ndim(gains[method]) else gains[method]
        value = 0.3 + own + 0.002 * draw + (0.001 * number if method != "tfidf" else 0.05 * place)
        found = [("map", value), ("map_full", value - 0.04)]
        zero = (SPARSITY if sparsity is None else sparsity).get(method)
        if zero is not None:
            zero = 1 - (1 - zero) * 0.3**place if "soml" in method else zero
            found.append(("sparsity", zero + (random.normal(0, 0.001) if zero else 0.0)))
        rows += [(codebook, landmark, draw, method, *number) for number in found]
    return pd.DataFrame(rows, columns=["representation", "subset", "fold", "method", "metric", "value"])


def fits(*, draws=DRAWS):
    """Return what the fits recorded: those of QPAO and OASIS take longer with more words."""
    random, rows = np.random.default_rng(1), []
    keys = product(enumerate(WORDS), LANDMARKS, SECONDS.items(), range(draws))
    for (place, codebook), landmark, (method, seconds), draw in keys:
        growth = 4.0**place if method in ("qpao", "oasis-diagonal") else 1.0
        took = seconds * growth * random.uniform(0.9, 1.2)
        rows.append((codebook, WORDS[codebook], landmark, method, draw, {"fit": took}))
    columns = ["representation", "n_words", "subset", "method", "fold", "cpu_seconds"]
    table = pd.DataFrame(rows, columns=columns).assign(not_converged="", converged=None)
    triplets = np.where(table["method"] == "oasis-diagonal", 100_000, 21_000)
    return table.assign(n_triplets=triplets, n_test=4555)


def results():
    """Rows of results with two codebooks and two numbers of features: S-TG is below OASIS with few features."""
    above = {"oasis-diagonal": 0.0, "soml-da": 2.0, "oasis-chosen": 0.0, "soml-tg-chosen": 3.0, "soml-da-chosen": 1.0}
    rows = []
    for words, (features, mean) in product((1000, 10_000), {"400": 390.0, "all": 1850.0}.items()):
        names = {"study": "landmark", "setting": f"words={words};features={features}"}
        rows.append({**names, "metric": "features of a photograph", "value": mean, "unit": "features"})
        gains = above | {"soml-tg": -3.0 if features == "400" else 5.0}
        for (method, gain), place, draw in product(gains.items(), range(4), range(2)):
            of_landmark = {"setting": f"{names['setting']};landmark={LANDMARKS[place]}", "repeat": str(draw)}
            wiggle = 0.2 * (place - 1.5) * (method != "oasis-diagonal")
            value = {"metric": "map_full", "value": 40 + 3 * place + gain + wiggle, "unit": "percent"}
            rows.append({**names, "method": method, **of_landmark, **value})
    return results_frame(rows)


def tables(**changes):
    return {"metrics": metrics(), "fits": fits(), **changes}


def pictures(folder):
    """Files of three queries in small photographs of noise: learning helps one of them, and harms another."""
    random = np.random.default_rng(3)
    paths = [f"image_{image:02d}.png" for image in range(14)]
    for path in paths:
        Image.fromarray(random.integers(0, 255, (24, 32, 3), dtype=np.uint8)).save(folder / path)
    manifest = pd.DataFrame({"image_id": range(14), "path": paths, "width": 32, "height": 24})
    names = {"query": ["all_souls_1", "all_souls_2", "bodleian_1"], "image_id": [0, 1, 2]}
    queries = pd.DataFrame(names).assign(landmark=["all_souls", "all_souls", "bodleian"])
    queries = queries.assign(x_min=8.0, y_min=6.0, x_max=16.0, y_max=18.0)
    kinds = {3: "good", 4: "ok", 5: "junk", 6: "good"}
    judged = [(query, *kind) for query, kind in product(queries["query"], kinds.items())]
    relevance = pd.DataFrame(judged, columns=["query", "image_id", "relevance"])
    write_json({"root": str(folder)}, folder / "images.json")
    ranks = [rankings(folder, queries, *run) for run in product(("all_souls", "bodleian"), ("tfidf", "soml-da"))]
    tables = {"manifest": manifest, "queries": queries, "relevance": relevance}
    return tables, {"images": str(folder / "images.json"), "ranks": ranks}


def rankings(folder, queries, landmark, method):
    """Write the rankings of one run: the first query finds its images early after learning, the others before it."""
    own = queries[queries["landmark"] == landmark]
    early, late = [3, 4, 6, 5, 7, 8, 9, 10, 11, 12, 13], [7, 8, 5, 9, 10, 3, 11, 12, 4, 13, 6]
    is_early = [(query == "all_souls_1") == (method == "soml-da") for query in own["query"]]
    places = [early if first else late for first in is_early]
    orders = np.array([[image, *found] for image, found in zip(own["image_id"], places, strict=True)])
    truth = np.array([3, 4, 5, 6])
    ranks = np.concatenate([[list(order).index(image) + 1 for image in truth] for order in orders])
    names, ids = own["query"].to_numpy(dtype=np.str_), own["image_id"].to_numpy()
    scores, offsets = np.tile(np.linspace(1, 0, orders.shape[1]), (len(own), 1)), 4 * np.arange(len(own) + 1)
    judged = np.tile(truth, len(own)), np.tile([0, 1, 2, 0], len(own))
    path = folder / "sift-1m" / landmark / method / "0" / "ranks.npz"
    path.parent.mkdir(parents=True)
    both = np.array([ranks, ranks])
    LandmarkRankings(names, ids, 14, orders, scores, offsets, *judged, both, np.ones_like(both)).save(path)
    return str(path)


def example(folder):
    """A study with all kinds of numbers and pictures, and one that was not run."""
    given, files = pictures(folder)
    whole = {**tables(results=results()), **given}
    return study(whole, files, lead={"codebooks": [*WORDS]}), study({}, not_run=NOT_RUN)
