"""What raters are shown (JMLR 5.2.3): query images, each with its first neighbours and unrelated images, mixed."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.seeds import generator
from lookalike.core.tables import filled, once, one_of, read_cells, refuse, sort_out, text_cells, whole_numbers, within

if TYPE_CHECKING:
    from lookalike.ranking.rankings import Rankings

COLUMNS = ("query", "query_image", "query_path", "position", "image", "path", "role", "rank")
"""Columns of a plan, a row a candidate that is shown: ``query`` and ``position`` (as shown) count from 1; the ``rank``
of a random one is 0."""
INTEGERS = ("query", "query_image", "position", "image", "rank")
ROLES = ("retrieved", "random")
NEIGHBOURS = ["query_path", "path", "rank"]
"""Columns of a user's own table of neighbours; 1 is the nearest."""
_DAMAGED = "is a damaged plan, with a position twice or an unknown role: make it anew"
_PLANNED = (once(_DAMAGED, "query", "position"), one_of(_DAMAGED, ROLES, "role"))
_RANK = (
    "the table of neighbours has the path {path!r} for the query {query_path!r} with the rank {rank!r}: name both "
    "images, and write 1 for the nearest, then 2, 3 and so on"
)
_LARGEST = np.finfo(np.float64).max
_RANKED = (filled(_RANK, *NEIGHBOURS), within(_RANK, "rank", -_LARGEST, _LARGEST))
_IN_ORDER = [
    once(f"{{query_path}} has {what} twice: give each neighbour one line and a rank of its own", "query_path", column)
    for column, what in (("path", "the neighbour {path}"), ("rank", "the rank {rank:g}"))
]


def draw_plan(
    neighbours: Mapping[int, Sequence[int]],
    paths: Mapping[int, str],
    related: Mapping[int, Collection[int]],
    *,
    seed: int,
    n_queries: int = 25,
    n_retrieved: int = 10,
    n_random: int = 10,
    relevance: Mapping[int, float] | None = None,
    contents: Mapping[int, str] | None = None,
) -> pd.DataFrame:
    """Draw query images, those of largest total `relevance` first, and their candidates, in a seeded order."""
    rng = generator(seed, "ratings", "plan")
    queries = list(neighbours)
    falling = np.array([0.0 if relevance is None else -relevance[query] for query in queries])
    # lexsort: the last key counts first
    order = [queries[place] for place in np.lexsort((rng.permutation(len(queries)), falling))]
    # contents are digests of the images' bytes: a picture that has two ids is shown once, as in the paper
    picture_of: Mapping[int, object] = contents or {image: image for image in paths}
    found = {query: list(neighbours[query])[:n_retrieved] for query in order}
    rows: list[tuple[object, ...]] = []
    for number, query in enumerate(_chosen(found, picture_of, n_queries), start=1):
        unrelated = _unrelated([query, *found[query]], paths, related[query], picture_of)
        if len(unrelated) < n_random:
            raise LookalikeError(
                f"only {len(unrelated)} images are unrelated to {paths[query]}, and {n_random} are shown beside its "
                "neighbours: use more images or ask for fewer random candidates"
            )
        candidates = [(image, "retrieved", rank) for rank, image in enumerate(found[query], start=1)]
        drawn = rng.choice(np.array(unrelated, dtype=np.int64), size=n_random, replace=False)
        candidates += [(int(image), "random", 0) for image in drawn]
        for position, place in enumerate(rng.permutation(len(candidates)), start=1):
            image, role, rank = candidates[place]
            rows.append((number, query, paths[query], position, image, paths[image], role, rank))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(INTEGERS, "int64"))


def _chosen(found: Mapping[int, Sequence[int]], picture_of: Mapping[int, object], n_queries: int) -> list[int]:
    """First queries that show no picture twice; all of them, with a warning, where there are fewer."""
    n_pictures = {query: len({picture_of[image] for image in (query, *images)}) for query, images in found.items()}
    queries = [query for query, images in found.items() if n_pictures[query] == 1 + len(images)]
    if not queries:
        raise LookalikeError(
            "there is no test image to ask raters about: choose a subset with test images whose neighbours differ"
        )
    if len(queries) < n_queries:
        warnings.warn(
            f"only {len(queries)} test images can be query images of the rating, not {n_queries}: all are taken",
            stacklevel=3,
        )
    return queries[:n_queries]


def _unrelated(
    chosen: Sequence[int], images: Collection[int], related: Collection[int], picture_of: Mapping[int, object]
) -> list[int]:
    """Images without relevance to the query whose pictures are not shown yet; of equal pictures the first."""
    related, pictures = set(related), {picture_of[image] for image in chosen}
    first: dict[object, int] = {}
    for image in images:
        if image not in related and picture_of[image] not in pictures:
            first.setdefault(picture_of[image], image)
    return list(first.values())


def plan_of_run(
    rankings: Rankings, manifest: pd.DataFrame, *, seed: int, n_queries: int, n_retrieved: int, n_random: int
) -> pd.DataFrame:
    """Draw a plan of one run of OASIS; images are related where their classes agree."""
    ids = rankings.query_ids.tolist()
    if not ids or rankings.neighbours is None:
        raise LookalikeError(
            "OASIS has no result that could be rated: choose another subset or fold under `ratings` in config.yaml, or "
            "remove `ratings`"
        )
    n_found = rankings.neighbours.shape[1]
    if n_found < n_retrieved:
        raise LookalikeError(
            f"OASIS has {n_found} neighbours of each of its {len(ids)} test images, and {n_retrieved} are to be shown: "
            "set `retrieved` under `ratings` in config.yaml to fewer, or choose a larger subset"
        )
    images = manifest.set_index("image_id").loc[ids]
    by_class = images.groupby("label").groups
    related = {image: by_class[label] for image, label in images["label"].items()}
    neighbours = dict(zip(ids, rankings.query_ids[rankings.neighbours].tolist(), strict=True))
    # with class labels, every image is relevant to the class it is of and to nothing else
    relevance = {image: float(len(images)) for image, images in related.items()}
    sizes = {"n_queries": n_queries, "n_retrieved": n_retrieved, "n_random": n_random}
    paths, contents = (images[column].to_dict() for column in ("path", "sha256"))
    return draw_plan(neighbours, paths, related, seed=seed, relevance=relevance, contents=contents, **sizes)


def plan_from_neighbours(table: pd.DataFrame, *, seed: int = 0, n_retrieved: int = 10, **sizes: Any) -> pd.DataFrame:
    """Draw a plan from a user's own table of `NEIGHBOURS`; image ids are positions in the sorted list of paths."""
    table = text_cells(table, NEIGHBOURS, "the table of neighbours")
    refuse(table, _RANKED)
    table = table.assign(rank=pd.to_numeric(table["rank"]).astype("float64")).drop_duplicates()
    refuse(table, _IN_ORDER)
    table = table[table["query_path"] != table["path"]].sort_values("rank", kind="stable")
    paths = sorted({*table["query_path"], *table["path"]})
    id_of = {path: number for number, path in enumerate(paths)}
    listed = {id_of[query]: [id_of[path] for path in found] for query, found in table.groupby("query_path")["path"]}
    for query, found in listed.items():
        if len(found) < n_retrieved:
            raise LookalikeError(
                f"{paths[query]} has {len(found)} neighbours other than itself, and {n_retrieved} are shown: "
                "list more neighbours for it or ask for fewer"
            )
    # a neighbour that is listed and not shown is not drawn as unrelated either
    related = {query: [query, *found] for query, found in listed.items()}
    return draw_plan(listed, dict(enumerate(paths)), related, seed=seed, n_retrieved=n_retrieved, **sizes)


def read_plan(path: PathLike) -> pd.DataFrame:
    """Read a plan from CSV; a file that is missing or no plan is an error."""
    plan = read_cells(path, COLUMNS, what="plan", exact=True)
    plan = whole_numbers(plan, dict.fromkeys(INTEGERS, "int64"), path).reset_index(drop=True)
    if plan.empty:
        raise LookalikeError(f"{path} is a plan without queries: make it anew")
    if len(sort_out(plan, _PLANNED)[0]) < len(plan):
        raise LookalikeError(f"{path} {_DAMAGED}")
    return plan


def plan_fingerprint(plan: pd.DataFrame) -> str:
    """Name a plan by its content: ``plan-`` and 12 hexadecimal digits."""
    text = plan[list(COLUMNS)].to_csv(index=False, lineterminator="\n")
    # the prefix keeps spreadsheets from reading the digits as a number
    return "plan-" + hashlib.sha256(text.encode()).hexdigest()[:12]
