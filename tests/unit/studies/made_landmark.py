"""Made-up runs of a landmark study: 7 landmarks, 5 draws, 3 codebooks; and small photographs with their rankings."""

from itertools import product

import numpy as np
import pandas as pd
from contract import ABSENT, changed_study, contrasted, finished, grid, photographs

from lookalike.exhibits.results import results_frame, select
from lookalike.ranking.oxford import average_precision
from lookalike.studies.landmark.results import LandmarkRankings, results_of, rows_of_run, times_of
from lookalike.studies.landmark.study import LANDMARKS

WORDS = {"sift-10k": 10_000, "sift-100k": 100_000, "sift-1m": 1_000_000}
SMALL = {"sift-10k": 10_000}
GAIN = {"tfidf": 0.0, "qpao": 0.14, "oasis-diagonal": 0.08, "soml-tg": 0.12, "soml-da": 0.13}
SPARSITY = {"qpao": 0.3, "oasis-diagonal": 0.0, "soml-tg": 0.4, "soml-da": 0.75}
SECONDS = {"tfidf": 0.0, "qpao": 60.0, "oasis-diagonal": 0.8, "soml-tg": 0.06, "soml-da": 0.05}


def given(*, kind="oxford5k", title="Oxford5K", codebooks=WORDS, **section):
    """The study of the project's settings on Oxford5K, without its lead, of which some are changed."""
    shared = {"codebooks": {id: words for id, words in codebooks.items() if isinstance(words, dict)}}
    section = {"codebooks": list(codebooks), "lead": None} | section
    return changed_study("landmark", "oxford5k", data={"kind": kind, "title": title}, shared=shared, **section)


def runs(gains=GAIN, *, draws=5, landmarks=LANDMARKS):
    """A row a run, of its numbers and its record: learning helps by the gain of a method."""
    rows = grid(representation=WORDS, subset=landmarks, method=gains, fold=range(draws))
    method, fold = rows["method"], rows["fold"]
    place, number = rows["representation"].map([*WORDS].index), rows["subset"].map([*landmarks].index)
    value = 0.3 + method.map(gains) + 0.002 * fold + np.where(method == "tfidf", 0.05 * place, 0.001 * number)
    used = 1 - method.map(SPARSITY) - 0.0005 * ((number + fold) % 3)
    took = method.map(SECONDS) * 4.0 ** (place * method.isin(["qpao", "oasis-diagonal"]))
    rows = rows.assign(n_words=rows["representation"].map(WORDS), map=value, map_full=value - 0.04)
    rows = rows.assign(sparsity=1 - used * 0.3 ** (place * method.str.contains("soml")), not_converged="", n_test=4555)
    rows["n_triplets"] = np.where(method == "oasis-diagonal", 100_000, 21_000)
    return rows.assign(cpu_seconds=[{"fit": seconds} for seconds in took], converged=None)


def study(runs, files=(), *, tables=(), **changes):
    """The study of these runs, and of its lead where its settings have one, with its contrasts."""
    own, tables = given(**changes), dict(tables)
    records = select(runs, representation=own.codebooks, subset=own.landmarks).to_dict("records")
    numbers = ({name: run[name] for name in ("map", "map_full", "sparsity") if run[name] >= 0} for run in records)
    rows = results_frame(row for run, own in zip(records, numbers, strict=True) for row in rows_of_run(own, run))
    lead = lead_rows() if "lead" in changes else None
    tables["results"] = pd.concat([results_of(rows, records, len(own.landmarks), 5062), lead], ignore_index=True)
    tables["times"] = times_of(records, len(own.landmarks))
    return contrasted(finished(own, tables, files))


def lead_rows():
    """Rows of results with two codebooks and two numbers of features: S-TG is below OASIS with few features."""
    above = {"oasis-diagonal": 0.0, "soml-da": 2.0, "oasis-chosen": 0.0, "soml-tg-chosen": 3.0, "soml-da-chosen": 1.0}
    sizes = grid(setting=["words=1000", "words=10000"], features=[";features=400", ";features=all"])
    sizes = sizes.assign(value=[390.0, 1850.0] * 2, metric="features of a photograph", unit="features")
    rows = sizes[["setting", "features"]].merge(grid(method=[*above, "soml-tg"], place=range(4), repeat="01"), "cross")
    of_triplets = rows["features"].map({";features=400": -3.0, ";features=all": 5.0})
    gain = rows["method"].map(above).fillna(of_triplets)
    apart = 0.2 * (rows["place"] - 1.5) * (rows["method"] != "oasis-diagonal")
    rows = rows.assign(value=40 + 3 * rows["place"] + gain + apart, metric="map_full", unit="percent")
    rows["features"] += ";landmark=" + rows["place"].map(dict(enumerate(LANDMARKS)))
    every = pd.concat([sizes, rows])
    return results_frame(every.assign(setting=every["setting"] + every["features"], study="landmark"))


def pictures(folder):
    """Tables and files of three queries in small photographs of noise: learning helps one of them, and harms others."""
    manifest, file = photographs(folder, [f"{image}.png" for image in range(14)])
    names = {"query": ["all_souls_1", "all_souls_2", "bodleian_1"], "image_id": [0, 1, 2]}
    queries = pd.DataFrame(names).assign(landmark=["all_souls", "all_souls", "bodleian"])
    queries = queries.assign(x_min=8.0, y_min=6.0, x_max=16.0, y_max=18.0)
    kinds = {3: "good", 4: "ok", 5: "junk", 6: "good"}
    judged = [(query, *kind) for query, kind in product(queries["query"], kinds.items())]
    relevance = pd.DataFrame(judged, columns=["query", "image_id", "relevance"])
    ranks = [rankings(folder, queries, *run) for run in product(("all_souls", "bodleian"), ("tfidf", "soml-da"))]
    tables = {"manifest": manifest, "queries": queries, "relevance": relevance}
    return tables, {"images": file, "ranks": ranks}


def rankings(folder, queries, landmark, method):
    """Write the rankings of one run: the first query finds its images early after learning, the others before it."""
    own = queries[queries["landmark"] == landmark]
    early, late = [3, 4, 6, 5, 7, 8, 9, 10, 11, 12, 13], [7, 8, 5, 9, 10, 3, 11, 12, 4, 13, 6]
    found = [early if (query == "all_souls_1") == (method == "soml-da") else late for query in own["query"]]
    orders = np.array([[image, *images] for image, images in zip(own["image_id"], found, strict=True)])
    scores = np.tile(np.linspace(1, 0, orders.shape[1]), (len(own), 1))
    places = [{image: rank for rank, image in enumerate(order, start=1)} for order in orders.tolist()]
    precisions = [average_precision([rank[3], rank[4], rank[6]], [rank[5]]) for rank in places]
    path = folder / "sift-1m" / landmark / method / "0" / "ranks.npz"
    path.parent.mkdir(parents=True)
    names = own["query"].to_numpy(dtype=np.str_)
    LandmarkRankings(names, np.array([precisions, precisions]), orders, scores).save(path)
    return str(path)


def example(folder):
    """A study with all kinds of numbers and pictures, and one that was not run."""
    tables, files = pictures(folder)
    whole = study(runs(), files, tables=tables, lead={"codebooks": [*WORDS]})
    return whole, finished(given(), not_run=ABSENT)
