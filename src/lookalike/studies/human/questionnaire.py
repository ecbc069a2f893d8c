"""What raters are shown (JMLR 5.2.3): query images, each with its first neighbours and unrelated images, mixed.

A plan says what is shown; its page is one HTML file with its pictures inside, which needs no network.
"""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import sys
import warnings
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, check_folder, replacing
from lookalike.core.images import load_rgb, shrink
from lookalike.core.seeds import generator
from lookalike.core.tables import read_cells, refuse, text_cells, whole_numbers
from lookalike.data.path_finder import locate

if TYPE_CHECKING:
    from lookalike.ranking.rankings import Rankings

COLUMNS = ("query", "query_image", "query_path", "position", "image", "path", "role", "rank")
"""Columns of a plan, a row a candidate that is shown: ``query`` and ``position`` (as shown) count from 1; the ``rank``
of a random one is 0."""
NEIGHBOURS = ["query_path", "path", "rank"]
"""Columns of a user's own table of neighbours; 1 is the nearest."""
_RANK = (
    "the table of neighbours has the path {path!r} for the query {query_path!r} with the rank {rank!r}: name both "
    "images, and write 1 for the nearest, then 2, 3 and so on"
)
_TWICE = "{{query_path}} has {} twice: give each neighbour one line and a rank of its own"
INTEGERS = dict.fromkeys(("query", "query_image", "position", "image", "rank"), "int64")

QUERY_SIDE, CANDIDATE_SIDE = 400, 200
"""Pixels of the longer side of a query and of a candidate; smaller images stay as they are."""
UNSAFE = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Letters by which text in JSON could close its script element or break a line."""


def make_plan(
    neighbours: Mapping[int, Sequence[int]],
    paths: Mapping[int, str],
    related: Mapping[int, Collection[int]],
    *,
    seed: int,
    n_queries: int,
    n_retrieved: int,
    n_random: int,
    relevance: Mapping[int, float] = MappingProxyType({}),
    contents: Mapping[int, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Draw query images, those of largest total `relevance` first, and their candidates, in a seeded order."""
    rng = generator(seed, "ratings", "plan")
    ties = rng.permutation(len(neighbours)).tolist()
    ordered = sorted(zip(neighbours, ties, strict=True), key=lambda item: (-relevance.get(item[0], 0.0), item[1]))
    # contents are digests of the images' bytes: a picture that has two ids is shown once, as in the paper
    picture_of = {image: contents.get(image, image) for image in paths}
    rows: list[tuple[object, ...]] = []
    number = 0
    for query, _ in ordered:
        images = [query, *neighbours[query][:n_retrieved]]
        pictures = {picture_of[image] for image in images}
        if number == n_queries or len(pictures) < len(images):
            continue
        number, near, unrelated = number + 1, set(related[query]), dict[object, int]()
        for other in paths:
            if other not in near and picture_of[other] not in pictures:
                unrelated.setdefault(picture_of[other], other)  # of equal pictures the first
        if len(unrelated) < n_random:
            raise LookalikeError(
                f"only {len(unrelated)} images are unrelated to {paths[query]}, and {n_random} are shown beside its "
                "neighbours: use more images or ask for fewer random candidates"
            )
        candidates = [(image, "retrieved", rank) for rank, image in enumerate(images[1:], start=1)]
        drawn = rng.choice(np.array(list(unrelated.values()), dtype=np.int64), size=n_random, replace=False)
        candidates += [(int(image), "random", 0) for image in drawn]
        for position, place in enumerate(rng.permutation(len(candidates)), start=1):
            image, role, rank = candidates[place]
            rows.append((number, query, paths[query], position, image, paths[image], role, rank))
    if not rows:
        raise LookalikeError("no test image can be asked about: choose a subset with images whose neighbours differ")
    if number < n_queries:
        few = f"only {number} test images can be query images of the rating, not {n_queries}: all are taken"
        warnings.warn(few, stacklevel=2)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(INTEGERS)


def plan_of_run(rankings: Rankings, manifest: pd.DataFrame, *, n_retrieved: int, **chosen: int) -> pd.DataFrame:
    """Draw a plan of one run of OASIS; images are related where their classes agree."""
    ids, found = rankings.query_ids.tolist(), rankings.neighbours
    n_found = 0 if found is None or not ids else found.shape[1]
    if found is None or n_found < n_retrieved:
        raise LookalikeError(
            f"OASIS has {n_found} neighbours of each of its {len(ids)} test images, and {n_retrieved} are to be shown: "
            "set `retrieved` under `ratings` in config.yaml to fewer, or choose a larger subset"
        )
    images = manifest.set_index("image_id").loc[ids]
    by_class = images.groupby("label").groups
    related = {image: by_class[label] for image, label in images["label"].items()}
    neighbours = dict(zip(ids, rankings.query_ids[found].tolist(), strict=True))
    # with class labels, every image is relevant to the class it is of and to nothing else
    relevance = {image: float(len(own)) for image, own in related.items()}
    paths, contents = (images[column].to_dict() for column in ("path", "sha256"))
    sizes = {"n_retrieved": n_retrieved, **chosen}
    return make_plan(neighbours, paths, related, relevance=relevance, contents=contents, **sizes)


def plan_from_neighbours(table: pd.DataFrame, *, seed: int = 0, n_retrieved: int = 10, **sizes: Any) -> pd.DataFrame:
    """Draw a plan from a table of `NEIGHBOURS`; image ids are positions in the sorted list of paths."""
    table = text_cells(table, NEIGHBOURS, "the table of neighbours")
    is_rank = pd.to_numeric(table["rank"], errors="coerce").between(-sys.float_info.max, sys.float_info.max)
    refuse(table, {_RANK: (table == "").any(axis=1) | ~is_rank})
    table = table.assign(rank=table["rank"].astype("float64")).drop_duplicates()
    for column, what in (("path", "the neighbour {path}"), ("rank", "the rank {rank:g}")):
        refuse(table, {_TWICE.format(what): table.duplicated(["query_path", column])})
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
    return make_plan(listed, dict(enumerate(paths)), related, seed=seed, n_retrieved=n_retrieved, **sizes)


def plan_of_file(neighbours: Path, plan: Path, *, seed: int, **sizes: int) -> pd.DataFrame:
    """Draw a plan from a file of `NEIGHBOURS`, which another plan of that name must not be: answers belong to one."""
    table = read_cells(neighbours, NEIGHBOURS, what="file of neighbours")
    try:
        drawn = plan_from_neighbours(table, seed=seed, **sizes)
    except LookalikeError as error:  # which knows no file
        raise LookalikeError(f"no plan can be made from {neighbours}: {error}") from error
    if plan.exists() and not read_plan(plan).equals(drawn):
        raise LookalikeError(f"{plan} exists and holds another plan: remove it first or name a new file")
    return drawn


def read_plan(path: PathLike) -> pd.DataFrame:
    """Read a plan from CSV; a file that is missing or no plan is an error."""
    plan = whole_numbers(read_cells(path, COLUMNS, what="plan", exact=True), INTEGERS, path)
    is_damaged = plan.duplicated(["query", "position"]) | ~plan["role"].isin(["retrieved", "random"])
    refuse(plan, {"has a position twice or an unknown role: make the plan again": is_damaged}, path)
    if plan.empty:
        raise LookalikeError(f"{path} is a plan without queries: make it again")
    return plan.reset_index(drop=True)


def plan_fingerprint(plan: pd.DataFrame) -> str:
    """Name a plan by its content: ``plan-`` and 12 hexadecimal digits."""
    text = plan[list(COLUMNS)].to_csv(index=False, lineterminator="\n")
    # the prefix keeps spreadsheets from reading the digits as a number
    return "plan-" + hashlib.sha256(text.encode()).hexdigest()[:12]


def write_page(
    plan: pd.DataFrame, image_root: PathLike, output: PathLike, title: str = "Which images are similar?"
) -> None:
    """Write the rating page of a plan (JMLR 5.2.3 and Appendix A), whose paths are relative to `image_root`."""
    root, ordered = Path(image_root), plan.sort_values(["query", "position"])
    check_folder(root, "name the folder of images that the plan's paths start from")
    # numbered as they come up, so that a number says nothing of an image; one that is shown twice is embedded once
    ordered["number"], pictures = pd.factorize(ordered["path"])
    by_query = ordered.groupby("query")
    query_paths = by_query["query_path"].first()
    # a plan may come from somebody else, and the page is given away: no path or link leads to other images
    found, lost = locate(root, [*query_paths, *pictures], only_inside=True)
    for path, reason in lost:
        raise LookalikeError(
            f"the image {path} of the plan cannot be shown: {reason}; correct the plan, or name another folder than "
            f"{root}"
        )
    places = [(query, own[["position", "number"]].to_numpy().tolist()) for query, own in by_query]
    content = {
        "plan": plan_fingerprint(plan),
        "title": title,
        "queries": [{"query": query, "candidates": candidates} for query, candidates in places],
        "query_pictures": [_data_uri(root, found[path], QUERY_SIDE) for path in query_paths],
        "pictures": [_data_uri(root, found[path], CANDIDATE_SIDE) for path in pictures],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).translate(UNSAFE)
    template = files("lookalike.studies.human").joinpath("page.html").read_text(encoding="utf-8")
    parts = [part.replace("@@TITLE@@", html.escape(title)) for part in template.split("@@CONTENT@@")]
    with replacing(output) as part:
        part.write_text(text.join(parts), encoding="utf-8", errors="backslashreplace")


def _data_uri(root: Path, path: str, size: int) -> str:
    """Return an image, upright and small, as a JPEG data URI without any metadata."""
    stream = io.BytesIO()
    try:
        Image.fromarray(shrink(load_rgb(root / path), size)).save(stream, "JPEG", quality=85, optimize=True)
    except LookalikeError as error:
        raise LookalikeError(f"the image {path} of the plan cannot be shown: {error}; mend it in {root}") from error
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
