"""A plan of query images of three classes, and a study of twelve images of four classes that rank each other."""

from itertools import product

import numpy as np
import pandas as pd
from contract import ABSENT, contrasted, finished, photographs

from lookalike.core.settings.methods import Method
from lookalike.core.settings.schema import Ratings, Shared
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human.questionnaire import make_plan
from lookalike.studies.human.ratings import COLUMNS, results_of
from lookalike.studies.human.study import HumanStudy
from lookalike.studies.rooms import study_of

PATHS = [f"{label}/{number:04d}.png" for number, label in enumerate(np.repeat(["boat", "tree", "house"], 8))]
IMAGES = range(100, 100 + len(PATHS))
PATH_OF = dict(zip(IMAGES, PATHS, strict=True))
LABEL_OF = {image: path.partition("/")[0] for image, path in PATH_OF.items()}
NEIGHBOURS = {
    query: [found for found in np.random.default_rng(query).permutation(IMAGES).tolist() if found != query][:4]
    for query in IMAGES[:6]
}
RELATED = {query: {image for image in IMAGES if LABEL_OF[image] == LABEL_OF[query]} for query in IMAGES}


def draw(seed=0, **changes):
    """A plan of three of six queries, with four neighbours and four random images each."""
    sizes = {"n_queries": 3, "n_retrieved": 4, "n_random": 4}
    return make_plan(**({"neighbours": NEIGHBOURS, "paths": PATH_OF, "related": RELATED} | sizes | changes), seed=seed)


# image ids are not row numbers: rows 0..11 of the rankings are images 100, 102, ..., three of each of four classes
LABELS = ("001.mug",) * 3 + ("002.dog",) * 3 + ("003.fern",) * 3 + ("004.bus",) * 3
IDS = np.arange(100, 124, 2, dtype=np.int32)
# rank of the two images of its class, of each query
RANKS = ((1, 2), (1, 2), (1, 3), (1, 4), (1, 2), (6, 7), (6, 11), (6, 11), (1, 2), (10, 11), (9, 11), (5, 6))
STUDY = HumanStudy(ratings=Ratings(subset="ten"), representation="words", subset_title="Ten", n_folds=5)


def make_rankings(ranks=RANKS):
    """Rankings in which each query finds the images of its class at given ranks, other images in their order."""
    n, neighbours = len(ranks), []
    for query, own_ranks in enumerate(ranks):
        own = [row for row in range(n) if LABELS[row] == LABELS[query] and row != query]
        others = [row for row in range(n) if LABELS[row] != LABELS[query]]
        neighbours.append([own.pop(0) if rank in own_ranks else others.pop(0) for rank in range(1, n)])
    ranks, found = np.array(ranks, dtype=np.int32).ravel(), np.array(neighbours, dtype=np.int32)
    scores = np.tile(np.linspace(2, 1, n - 1), (n, 1)).astype(np.float32)
    rows = {"query_ids": IDS[:n], "neighbours": found, "neighbour_scores": scores}
    return Rankings(offsets=np.arange(0, 2 * n + 1, 2), ranks=ranks, n_gallery=n - 1, **rows)


def make_ratings(*, n_queries=22, n_raters=6, n_found=10, simulated=True):
    """Ratings of found and random images of each query, the later queries worse; raters judge by themselves."""
    rng, rows = np.random.default_rng(0), []
    for query, rater, position in product(range(1, n_queries + 1), range(n_raters), range(1, 2 * n_found + 1)):
        found = position % 2 == 0
        good = rng.random() < (0.95 - 0.03 * query if found else 0.05)
        role, rank = ("retrieved", position // 2) if found else ("random", 0)
        key = (f"simulated {rater + 1:02d}", query, 500 + query, position, 1000 * query + position, role, rank)
        rows.append((*key, "good" if good else "not_good", position != 7, simulated))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def given(kind="folder"):
    """The study as a job for exhibits is given it."""
    shared = Shared(datasets={"toy": {"kind": kind}}, methods={"oasis": Method(learner="OASIS")})
    return study_of("human", "toy", STUDY.bound("toy", shared).params("exhibits"))


def make_study(folder, *, ratings=None, rankings=None, kind="folder"):
    """A study whose images and rankings lie in a folder."""
    manifest, file = photographs(folder, [f"{id}.png" for id in IDS])
    (rankings or make_rankings()).save(folder / "ranks.npz")
    results = results_of(make_ratings(n_queries=2) if ratings is None else ratings)
    tables = {"manifest": manifest.assign(image_id=IDS, label=LABELS), "results": results}
    return contrasted(finished(given(kind), tables, {"images": file, "ranks": str(folder / "ranks.npz")}))


def example(folder):
    """A study that people rated, and one that was not run."""
    return make_study(folder, ratings=make_ratings(simulated=False)), finished(given(), not_run=ABSENT)
