"""Ground truth of a landmark study: what is asked, and which images answer it.

It is sampled from photographs in a folder for each landmark, or read from files in the format of the Oxford Buildings.
There every query has four text files: ``<landmark>_<n>_query.txt`` with one line, ``oxc1_<image> x1 y1 x2 y2`` (the
query's image and the rectangle of the landmark in it, in pixels), and ``<landmark>_<n>_{good,ok,junk}.txt`` with the
name of an image, that of its file without the suffix, on each line.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pandas as pd

from lookalike.core.errors import LookalikeError, existing
from lookalike.core.files import PathLike, check_folder, reading, replacing
from lookalike.core.seeds import generator
from lookalike.data.path_finder import escaped_path, walk

LISTS = ("good", "ok", "junk")
"""A clear view of the landmark, more than a quarter of it visible, less than that: junk counts neither way."""
OXFORD_LANDMARKS = (
    *("all_souls", "ashmolean", "balliol", "bodleian", "christ_church", "cornmarket"),
    *("hertford", "keble", "magdalen", "pitt_rivers", "radcliffe_camera"),
)
"""The landmarks of the Oxford Buildings (Philbin et al., CVPR 2007, section 2, and the published files' names)."""
_PREFIX = "oxc1_"  # begins every image's name in the published query files, and in no other file
_QUERY = f"{_PREFIX}<image> x1 y1 x2 y2"
_FILE_NAME = re.compile(r"(?P<landmark>[A-Za-z0-9._-]+)_(?P<number>[0-9]+)_(?P<kind>query|good|ok|junk)\.txt")
_USABLE = ("ok", "clutter")  # of the manifest's statuses
_FORMAT = "<landmark>_<n>_query.txt, _good.txt, _ok.txt or _junk.txt"
_BOX = ("x_min", "y_min", "x_max", "y_max")


class Query(NamedTuple):
    """One query: a rectangle, in pixels from the image's upper left corner; it may reach beyond the image."""

    name: str  # landmark and number, as in all_souls_1
    landmark: str
    number: int
    image: str  # its name without the prefix of the files
    x_min: float
    y_min: float
    x_max: float
    y_max: float


Truth = Mapping[Query, Mapping[str, str]]
"""For each query the list (one of `LISTS`) that each image is in; sorted by landmark, then by number."""
Listed = dict[str, tuple[str, str]]
"""The list that each image of a query is in, and the file and line where that stands."""


def read_lists(folder: PathLike) -> Truth:
    """Read a ground-truth folder by itself: names of images only, whether or not there are any images."""
    return {
        query: {image: kind for image, (kind, _) in listed.items()} for query, _, listed in _read_folder(Path(folder))
    }


def read_ground_truth(folder: PathLike, manifest: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the queries and the listed images of a ground-truth folder, sorted, by a manifest of photographs."""
    images: dict[str, list[Any]] = {}  # by their names in the ground truth
    for row in manifest.itertuples():
        images.setdefault(PurePosixPath(str(row.path)).stem, []).append(row)
    queries, relevance = [], []
    for query, place, listed in _read_folder(Path(folder)):
        image = _find(images, query.image, place)
        _check_query(query, place, image, listed)
        queries.append((query.name, query.landmark, image.image_id, *query[4:]))
        # junk is taken out before ranks are counted: without it, nothing changes
        found = {name: _find(images, name, where, kind == "junk") for name, (kind, where) in listed.items()}
        kinds = {row.image_id: listed[name][0] for name, row in found.items() if row.status in _USABLE}
        relevance += [(query.name, image_id, kinds[image_id]) for image_id in sorted(kinds)]
        for row in (row for row in found.values() if row.status not in _USABLE):
            warnings.warn(f"{row.path} cannot be used ({row.reason}): it is junk, and passed over", stacklevel=2)
    return _tables(queries, relevance)


def sample_ground_truth(
    manifest: pd.DataFrame, landmarks: Sequence[str], distractors: Sequence[str], n_queries: int, *, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sample the queries of landmarks that are folders of a manifest: the two tables that `read_ground_truth` reads.

    A query asks with a whole image. All images of its landmark are good, its own among them, and none is junk. The
    sample depends on the seed, on the landmark's name and on the order of its paths, not on the paths themselves.
    """
    images = manifest.assign(folder=manifest["label"].str.partition("/")[0]).sort_values("path", kind="stable")
    known = name_landmarks(images["folder"], distractors)
    queries, relevance = [], []
    for landmark in landmarks:
        if landmark not in known:
            raise LookalikeError(f"there is no folder of a landmark {landmark!r}; {existing(landmark, known)}")
        own = images[(images["folder"] == known[landmark]) & (images["status"] == "ok")]
        if len(own) <= n_queries:
            raise LookalikeError(
                f"the folder {known[landmark]} has {len(own)} usable images, and {n_queries} queries need more than "
                "that: add images, lower `queries`, or name the folder under `distractors`"
            )
        order = generator(seed, "landmark", landmark, "queries").permutation(len(own))[:n_queries]
        for number, row in enumerate(own.iloc[order].itertuples(), start=1):
            query = f"{landmark}_{number}"
            queries.append((query, landmark, row.image_id, 0, 0, row.width, row.height))
            relevance += [(query, image_id, "good") for image_id in sorted(own["image_id"])]
    return _tables(queries, relevance)


def name_landmarks(folders: Iterable[str], distractors: Sequence[str]) -> dict[str, str]:
    """Return the name of each landmark, which can be part of a path, to its folder; `distractors` hold none."""
    folders = sorted({folder for folder in folders if folder and not folder.startswith(".")})
    found: dict[str, str] = {}
    for folder in (folder for folder in distractors if folder not in folders):
        names = existing(folder, folders)
        raise LookalikeError(f"`distractors` names the folder {folder!r}, which is not there; {names}")
    for folder in (folder for folder in folders if folder not in distractors):
        # classes of Caltech-256 are numbered: 003.backpack
        name = re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"^\d+\.", "", folder)).strip("_")
        if not name:
            why = "has no letter from A to Z and no digit to name a landmark by"
            raise LookalikeError(f"the folder {folder} {why}: rename it")
        if other := found.get(name):
            raise LookalikeError(f"the folders {other} and {folder} are both called {name} as landmarks: rename one")
        found[name] = folder
    return found


def folders_in(root: PathLike) -> list[str]:
    """Return the folders in a folder of photographs, as a scan of it finds them: plans need them."""
    _, names, _ = next(walk(Path(root)), ("", [], []))
    return [escaped_path(name) for name in names]


def _tables(
    queries: Sequence[tuple[object, ...]], relevance: Sequence[tuple[object, ...]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    types = {"image_id": "int32", **dict.fromkeys(_BOX, "float64")}
    return (
        pd.DataFrame(queries, columns=["query", "landmark", *types]).astype(types),
        pd.DataFrame(relevance, columns=["query", "image_id", "relevance"]).astype({"image_id": "int32"}),
    )


def write_ground_truth(folder: PathLike, truth: Truth) -> None:
    """Write queries and lists as the files that `read_lists` reads back; names have no blanks."""
    for query, listed in truth.items():
        box = (repr(float(value)).removesuffix(".0") for value in query[4:])
        lines = {kind: sorted(image for image in listed if listed[image] == kind) for kind in LISTS}
        lines["query"] = [" ".join((_PREFIX + query.image, *box))]
        for kind, texts in lines.items():
            with replacing(Path(folder, f"{query.name}_{kind}.txt")) as part:
                part.write_bytes("".join(f"{text}\n" for text in texts).encode("utf-8"))


def painted_truth(images: PathLike) -> Path:
    """Return the folder of the ground truth of images that code makes: beside theirs."""
    return Path(images).with_name("ground_truth")


def landmarks_of(folder: PathLike) -> list[str]:
    """Return the landmarks that a folder has queries for, sorted, from the names of its files alone: plans need it."""
    names = os.listdir(folder) if Path(folder).is_dir() else []
    matches = (_FILE_NAME.fullmatch(name) for name in names if not name.startswith("."))
    return sorted({match["landmark"] for match in matches if match is not None and match["kind"] == "query"})


def landmarks_with(folder: PathLike, n_positives: int) -> list[str]:
    """Return the landmarks of a ground-truth folder with more than `n_positives` images to learn from, sorted."""
    # With 7 these are the 7 of 11 Oxford landmarks that the SOML paper (AAAI 2014) shows. Images to learn from are good
    # or ok for one of the landmark's queries, junk for none, and no query; one more is left to be found.
    if not Path(folder).is_dir():
        return []
    truth = read_lists(folder)
    listed = [(query.landmark, *facts) for query, images in truth.items() for facts in images.items()]
    wanted = {(landmark, image) for landmark, image, kind in listed if kind != "junk"}
    wanted -= {(landmark, image) for landmark, image, kind in listed if kind == "junk"}
    wanted -= {(query.landmark, query.image) for query in truth}
    counts = Counter(landmark for landmark, _ in wanted)
    return sorted(landmark for landmark, count in counts.items() if count > n_positives)


def _read_folder(folder: Path) -> list[tuple[Query, str, Listed]]:
    """Read every query of a folder, sorted by landmark and number, with the place of its line and its lists."""
    check_folder(folder, f"give the folder that holds {_FORMAT}")
    names = sorted(file.name for file in folder.glob("*.txt") if not file.name.startswith("."))
    if not names:
        raise LookalikeError(f"{folder} holds no ground truth: put its files there ({_FORMAT})")
    for name in names:
        if not _FILE_NAME.fullmatch(name):
            raise LookalikeError(
                f"{folder / name}: a ground-truth file is called {_FORMAT}, and a landmark by letters without accents, "
                "digits, '.', '_' and '-': rename or remove it"
            )
    queries = [_read_query(folder, query) for query in {name.rpartition("_")[0] for name in names}]
    return sorted(queries, key=lambda found: found[0][1:3])


def _read_query(folder: Path, name: str) -> tuple[Query, str, Listed]:
    """Read a query's file, one line of an image's name and four numbers, and the list that names each image."""
    lines = _lines(folder / f"{name}_query.txt")
    place = lines[0][0] if lines else str(folder / f"{name}_query.txt")
    try:
        ((_, text),) = lines
        image, *numbers = text.split()
        x_min, y_min, x_max, y_max = map(float, numbers)
        if not (-math.inf < x_min < x_max < math.inf and -math.inf < y_min < y_max < math.inf):
            raise ValueError(numbers)
    except ValueError as error:
        rules = "x1 less than x2 and y1 less than y2 in pixels, and a name without blanks"
        raise LookalikeError(f"{place}: a query is one line, {_QUERY}, with {rules}: mend the file") from error
    listed: Listed = {}
    for kind in LISTS:
        for where, own in _lines(folder / f"{name}_{kind}.txt"):
            other, there = listed.setdefault(own, (kind, where))
            if other != kind:
                raise LookalikeError(f"{where}: {own} is in {there} too: remove one of the two lines")
    landmark, _, number = name.rpartition("_")
    query = Query(name, landmark, int(number), image.removeprefix(_PREFIX), x_min, y_min, x_max, y_max)
    return query, place, listed


def _lines(file: Path) -> list[tuple[str, str]]:
    """Return the places and texts of the lines of a file that hold anything."""
    with reading(file, "file of ground truth", "add it (a list may be empty), or remove the other files of that query"):
        text = file.read_text(encoding="utf-8-sig", errors="backslashreplace")
    lines = enumerate(map(str.strip, text.split("\n")), start=1)
    return [(f"{file}, line {number}", line) for number, line in lines if line]


def _find(images: Mapping[str, list[Any]], name: str, place: str, may_be_unusable: bool = False) -> Any:
    """Return the one row of the manifest that ground truth means by a name; a note beside an image is not meant."""
    rows = images.get(name, [])
    named = [row for row in rows if row.status != "not_an_image"] or rows
    if len(named) != 1:
        what = f"several images are called {name}: rename all but one" if named else f"there is no image {name}: add it"
        raise LookalikeError(f"{place}: {what}, or remove it from the ground truth")
    if named[0].status not in _USABLE and not may_be_unusable:
        why = f"{named[0].path} cannot be used, {named[0].status} ({named[0].reason})"
        raise LookalikeError(f"{place}: {why}: replace the image, or remove it from the ground truth")
    return named[0]


def _check_query(query: Query, place: str, image: Any, listed: Listed) -> None:
    """Refuse a rectangle that no descriptor can lie in, and a query that does not find itself."""
    if query.x_max <= 0 or query.y_max <= 0 or query.x_min >= image.width or query.y_min >= image.height:
        size = f"{image.width} x {image.height} pixels"
        raise LookalikeError(f"{place}: the rectangle lies beyond {image.path}, which has {size}: mend the line")
    kind, _ = listed.get(query.image, ("", ""))
    if kind not in ("good", "ok"):  # its image stays in the ranking
        raise LookalikeError(
            f"{place}: the query's own image {query.image} is {kind or 'in none of its lists'}, and would be a mistake "
            f"in every ranking: put it into {query.name}_good.txt or {query.name}_ok.txt"
        )
