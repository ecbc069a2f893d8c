"""What raters are shown: query images, each with its first neighbours and as many unrelated images, mixed.

The first step of the human evaluation (JMLR 5.2.3): `lookalike.studies.human.page` shows a plan,
`lookalike.studies.human.collect` reads what raters answered, `lookalike.studies.human.statistics` makes the numbers of
Figures 3B to 3D.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import generator

if TYPE_CHECKING:
    import pandas as pd

    from lookalike.ranking.rankings import Rankings

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]

Relevant = Callable[[int, IntArray], BoolArray]
"""Says which of some candidates (image ids) are relevant to a query image (its id)."""

COLUMNS = ("query", "query_image", "query_path", "position", "image", "path", "role", "rank")
_INTEGERS = ("query", "query_image", "position", "image", "rank")
ROLES = ("retrieved", "random")


def draw_rating_plan(
    query_ids: IntArray,
    total_relevance: FloatArray | IntArray,
    neighbours: IntArray,
    image_ids: IntArray,
    paths: Sequence[str],
    relevant: Relevant,
    *,
    seed: int,
    n_queries: int = 25,
    n_retrieved: int = 10,
    n_random: int = 10,
    contents: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Draw query images and their candidates (JMLR 5.2.3).

    The queries are the test images of largest total relevance; a seeded draw decides between equal ones (with balanced
    class labels, all are equal). Each has its first neighbours and as many unrelated images, in a seeded order.

    Parameters
    ----------
    query_ids : ndarray of int, shape (n,)
        Image ids of the test images.
    total_relevance : ndarray of float, shape (n,)
        Sum of each test image's relevance to all queries of the log; with labels, the images of its class.
    neighbours : ndarray of int, shape (n, at least n_retrieved)
        Image ids that the learner retrieved for each test image, nearest first, the test image itself not among them.
    image_ids : ndarray of int, shape (m,)
        Every image that may be shown: queries, neighbours and those to draw random candidates from.
    paths : sequence of str, length m
        Their files, relative to the folder of the images.
    relevant : callable
        ``relevant(query_id, candidate_ids)`` is a bool array: which of them have any relevance to the query image.
    seed : int
        Root seed.
    n_queries, n_retrieved, n_random : int
        How many; the paper has 25, 10 and 10.
    contents : sequence of str, length m, optional
        A digest of each image's bytes: a test image that has the same picture twice among itself and its neighbours is
        no query, as in the paper, and no picture is drawn as unrelated that is shown with the query already.

    Returns
    -------
    DataFrame
        One row per shown candidate: ``query`` (1.., by falling total relevance), ``query_image``, ``query_path``,
        ``position`` (1.., as shown), ``image``, ``path``, ``role`` ("retrieved" or "random"), ``rank`` (1.. of a
        retrieved one, 0 of a random one); ids and numbers are int64.

    Raises
    ------
    LookalikeError
        When there is no test image to ask about, or fewer unrelated images than `n_random`.
    ValueError
        When the arrays do not fit together, or a test image is its own neighbour.

    Warns
    -----
    UserWarning
        When there are fewer test images than `n_queries`; all of them are taken.
    """
    import pandas as pd

    query_ids, neighbours = np.asarray(query_ids, dtype=np.int64), np.asarray(neighbours, dtype=np.int64)
    image_ids = np.asarray(image_ids, dtype=np.int64)
    _check_arrays(query_ids, np.asarray(total_relevance), neighbours, image_ids, paths, n_retrieved)
    path_of = dict(zip(image_ids.tolist(), (str(path) for path in paths), strict=True))
    neighbours = neighbours[:, :n_retrieved]
    _check_known(np.concatenate([query_ids, neighbours.ravel()]), path_of)
    rng = generator(seed, "ratings", "plan")
    # lexsort: the last key counts first
    order = np.lexsort((rng.permutation(len(query_ids)), -np.asarray(total_relevance, dtype=np.float64)))
    # without digests, every image is a picture of its own
    digest_of: dict[int, Any] = dict(zip(image_ids.tolist(), image_ids if contents is None else contents, strict=True))
    order = np.array([row for row in order if _all_differ(query_ids[row], neighbours[row], digest_of)], dtype=int)
    chosen = _take(order, n_queries)
    rows: list[tuple[Any, ...]] = []
    for query, row in enumerate(chosen, start=1):
        image = int(query_ids[row])
        retrieved = [(int(found), "retrieved", rank) for rank, found in enumerate(neighbours[row], start=1)]
        unrelated = _unrelated(image, neighbours[row], image_ids, relevant, digest_of)
        if len(unrelated) < n_random:
            raise LookalikeError(
                f"only {len(unrelated)} images are unrelated to {path_of[image]}, and {n_random} are shown beside its "
                "neighbours: use more images or ask for fewer random candidates"
            )
        unrelated = rng.choice(unrelated, size=n_random, replace=False)
        candidates = [*retrieved, *((int(one), "random", 0) for one in unrelated)]
        for position, place in enumerate(rng.permutation(len(candidates)), start=1):
            shown, role, rank = candidates[place]
            rows.append((query, image, path_of[image], position, shown, path_of[shown], role, rank))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(_INTEGERS, "int64"))


def same_label(image_ids: IntArray, labels: Sequence[Any] | npt.NDArray[Any]) -> Relevant:
    """Relevance of labelled images: those of the query's own class.

    Parameters
    ----------
    image_ids : ndarray of int, shape (m,)
    labels : sequence, length m
        The class of each.

    Returns
    -------
    callable
        For `draw_rating_plan`.
    """
    label_of = dict(zip(np.asarray(image_ids).tolist(), labels, strict=True))

    def relevant(query_id: int, candidate_ids: IntArray) -> BoolArray:
        own = label_of[int(query_id)]
        return np.array([label_of[int(candidate)] == own for candidate in candidate_ids], dtype=np.bool_)

    return relevant


def retrieved_images(rankings: Rankings, n_retrieved: int) -> IntArray:
    """Image ids that rankings of test images by one another begin with, for `draw_rating_plan`.

    Parameters
    ----------
    rankings : Rankings
        With neighbours.
    n_retrieved : int
        How many are to be shown of each.

    Returns
    -------
    ndarray of int, shape (n_queries, at least n_retrieved)

    Raises
    ------
    LookalikeError
        When OASIS has no result, or there are fewer neighbours than are to be shown.
    """
    if rankings.n_queries == 0 or rankings.neighbours is None:
        raise LookalikeError(
            "OASIS has no result that could be rated: choose another subset or fold under `ratings` in config.yaml, or "
            "remove `ratings`"
        )
    n_found = rankings.neighbours.shape[1]
    if n_found < n_retrieved:
        raise LookalikeError(
            f"OASIS has {n_found} neighbours of each of its {rankings.n_queries} test images, and {n_retrieved} are to "
            "be shown: set `retrieved` under `ratings` in config.yaml to fewer, or choose a larger subset"
        )
    return np.asarray(rankings.query_ids[rankings.neighbours])


def plan_from_neighbours(
    table: pd.DataFrame, *, seed: int = 0, n_queries: int = 25, n_retrieved: int = 10, n_random: int = 10
) -> pd.DataFrame:
    """Draw a plan from a user's own table of neighbours.

    Parameters
    ----------
    table : DataFrame
        ``query_path``, ``path``, ``rank`` (1 is the nearest): one row per neighbour. Random candidates of a query are
        drawn from all images that the table names and does not list as neighbours of that query, so list more
        neighbours than are shown where the first ones are not all that is related.
    seed, n_queries, n_retrieved, n_random
        As in `draw_rating_plan`; queries are equal, so that a draw decides.

    Returns
    -------
    DataFrame
        As from `draw_rating_plan`; image ids are positions in the sorted list of paths.

    Raises
    ------
    LookalikeError
        When a column is missing, a rank is no number, a query has a rank or a neighbour twice or fewer neighbours than
        are shown, or there are too few images.
    """
    missing = [column for column in ("query_path", "path", "rank") if column not in table.columns]
    if missing:
        raise LookalikeError(f"the table of neighbours has no column {missing[0]}: it needs query_path, path and rank")
    table = _checked_ranks(table[["query_path", "path", "rank"]].dropna(subset=["query_path", "path"]))
    table = table[table["query_path"] != table["path"]]
    paths = sorted({*table["query_path"].astype(str), *table["path"].astype(str)})
    id_of = {path: number for number, path in enumerate(paths)}
    listed: dict[int, list[int]] = {}
    for query_path, group in table.sort_values("rank", kind="stable").groupby("query_path", sort=True):
        found = [id_of[str(path)] for path in group["path"]]
        if len(found) < n_retrieved:
            raise LookalikeError(
                f"{query_path} has {len(found)} neighbours other than itself, and {n_retrieved} are shown: "
                "list more neighbours for it or ask for fewer"
            )
        listed[id_of[str(query_path)]] = found
    return draw_rating_plan(
        np.array(list(listed), dtype=np.int64),
        np.ones(len(listed)),
        np.array([found[:n_retrieved] for found in listed.values()], dtype=np.int64).reshape(len(listed), n_retrieved),
        np.arange(len(paths)),
        paths,
        lambda query_id, candidates: np.isin(candidates, listed[query_id]),
        seed=seed,
        n_queries=n_queries,
        n_retrieved=n_retrieved,
        n_random=n_random,
    )


def write_plan(plan: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a plan as CSV."""
    from lookalike.core.files import write_table

    write_table(plan[list(COLUMNS)], path)


def read_plan(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read what `write_plan` wrote.

    Raises
    ------
    LookalikeError
        When the file is missing or is no plan.
    """
    import pandas as pd

    try:
        plan = pd.read_csv(path, dtype={"query_path": str, "path": str, "role": str}, keep_default_na=False)
    except FileNotFoundError:
        raise LookalikeError(f"there is no plan {path}: name the plan.csv that the workflow wrote") from None
    except (OSError, ValueError) as error:  # pandas' parser errors are ValueErrors
        raise LookalikeError(f"{path} cannot be read as a plan: {reason_of(error)}; name a plan.csv") from error
    missing = [column for column in COLUMNS if column not in plan.columns]
    if missing:
        raise LookalikeError(f"{path} is no plan of ratings: it has no column {missing[0]}; name a plan.csv")
    plan = plan[list(COLUMNS)]
    try:
        plan = plan.astype(dict.fromkeys(_INTEGERS, "int64"))
    except ValueError as error:
        raise LookalikeError(f"{path} is no plan of ratings: {reason_of(error)}; make it anew") from error
    if plan.empty:
        raise LookalikeError(f"{path} is a plan without queries: make it anew")
    if plan.duplicated(["query", "position"]).any() or not plan["role"].isin(ROLES).all():
        raise LookalikeError(f"{path} is a damaged plan, with a position twice or an unknown role: make it anew")
    return plan


def reason_of(error: Exception) -> str:
    """Message of pandas or of the system on one line, without the names and numbers that they put before it."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return " ".join(text.removeprefix("Error tokenizing data. ").removeprefix("C error: ").split()).rstrip(".")


def plan_fingerprint(plan: pd.DataFrame) -> str:
    """Name a plan by its content: ``plan-`` and 12 hexadecimal digits, the same wherever it is computed.

    The prefix keeps spreadsheets from reading the digits as a number.
    """
    text = plan[list(COLUMNS)].to_csv(index=False, lineterminator="\n")
    return "plan-" + hashlib.sha256(text.encode()).hexdigest()[:12]


def _check_arrays(
    query_ids: IntArray,
    total_relevance: npt.NDArray[Any],
    neighbours: IntArray,
    image_ids: IntArray,
    paths: Sequence[str],
    n_retrieved: int,
) -> None:
    """Refuse arrays that do not fit together: a mistake of the calling code."""
    if total_relevance.shape != query_ids.shape or query_ids.ndim != 1:
        raise ValueError("query_ids and total_relevance must be of one length")
    if neighbours.ndim != 2 or len(neighbours) != len(query_ids) or neighbours.shape[1] < n_retrieved:
        raise ValueError(f"neighbours must have a row per query image and at least {n_retrieved} columns")
    if len(image_ids) != len(paths) or len(np.unique(image_ids)) != len(image_ids):
        raise ValueError("image_ids must be unique and as many as paths")
    shown = np.sort(neighbours[:, :n_retrieved], axis=1)
    if (shown[:, 1:] == shown[:, :-1]).any() or (shown == query_ids[:, None]).any():
        raise ValueError("a row of neighbours names an image twice or the query image itself")


def _checked_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Return a user's neighbours with ranks as numbers; refuses what leaves their order open."""
    import pandas as pd

    numbers = pd.to_numeric(table["rank"], errors="coerce").astype("float64")
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = table[wrong].iloc[0]
        raise LookalikeError(
            f"the rank '{row['rank']}' of {row['path']} for {row['query_path']} is no number: write 1 for the nearest, "
            "then 2, 3 and so on"
        )
    table = table.assign(rank=numbers).astype({"query_path": str, "path": str}).drop_duplicates()
    for column, what in (("path", "the neighbour"), ("rank", "the rank")):
        twice = table[table.duplicated(["query_path", column])]
        if not twice.empty:
            value = twice[column].iloc[0]
            shown = f"{value:g}" if column == "rank" else value
            raise LookalikeError(
                f"{twice['query_path'].iloc[0]} has {what} {shown} twice: give each neighbour one line and a rank of "
                "its own"
            )
    return table


def _check_known(ids: IntArray, path_of: dict[int, str]) -> None:
    """Refuse queries and neighbours that have no file."""
    unknown = next((one for one in ids.tolist() if one not in path_of), None)
    if unknown is not None:
        raise ValueError(f"image {unknown} is a query or a neighbour, but not among image_ids")


def _all_differ(query: int, neighbours: IntArray, digest_of: dict[int, Any]) -> bool:
    """Whether a query image and its neighbours are all different pictures."""
    digests = [digest_of[int(image)] for image in (query, *neighbours)]
    return len(set(digests)) == len(digests)


def _take(order: IntArray, n_queries: int) -> IntArray:
    """First queries of an order; all of them, with a warning, where there are fewer."""
    if not len(order):
        raise LookalikeError(
            "there is no test image to ask raters about: choose a subset with test images whose neighbours differ"
        )
    if len(order) < n_queries:
        warnings.warn(
            f"only {len(order)} test images can be query images of the rating, not {n_queries}: all are taken",
            stacklevel=3,
        )
    return order[:n_queries]


def _unrelated(
    query: int, retrieved: IntArray, image_ids: IntArray, relevant: Relevant, digest_of: dict[int, Any]
) -> IntArray:
    """Images without relevance to the query whose pictures are not shown yet; of equal pictures the first."""
    shown = {digest_of[int(image)] for image in (query, *retrieved)}
    left = []
    for image in image_ids[~np.asarray(relevant(query, image_ids), dtype=np.bool_)].tolist():
        if digest_of[image] not in shown:
            shown.add(digest_of[image])
            left.append(image)
    return np.array(left, dtype=np.int64)
