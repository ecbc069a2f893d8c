"""Ground truth of a landmark study in the format of the Oxford Buildings: what is asked, and which images answer it.

Every query has four text files: ``<landmark>_<n>_query.txt`` with one line, ``oxc1_<image> x1 y1 x2 y2`` (the query's
image and the rectangle of the landmark in it, in pixels), and ``<landmark>_<n>_{good,ok,junk}.txt`` with the name of an
image on each line. An image is named by its file's name without the suffix.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing

if TYPE_CHECKING:
    import pandas as pd

LISTS = ("good", "ok", "junk")
"""A clear view of the landmark, more than a quarter of it visible, less than that: junk counts neither way."""

OXFORD_LANDMARKS = (
    "all_souls", "ashmolean", "balliol", "bodleian", "christ_church", "cornmarket", "hertford", "keble", "magdalen",
    "pitt_rivers", "radcliffe_camera",
)  # fmt: skip
"""The landmarks of the Oxford Buildings (Philbin et al., CVPR 2007, section 2, and the published files' names)."""

_PREFIX = "oxc1_"  # begins every image's name in the published query files, and in no other file
_FILE_NAME = re.compile(r"(?P<landmark>.+)_(?P<number>[0-9]+)_(?P<kind>query|good|ok|junk)\.txt")
_ALLOWED = re.compile(r"[A-Za-z0-9._-]+")
_FORMAT = "<landmark>_<n>_query.txt, _good.txt, _ok.txt or _junk.txt"


class Query(NamedTuple):
    """One query: a rectangle in an image.

    Attributes
    ----------
    name : str
        Landmark and number, as in ``all_souls_1``.
    landmark : str
        What is looked for, as in ``all_souls``.
    number : int
        Which of the landmark's queries.
    image : str
        Name of the image, without the prefix of the files.
    x_min, y_min, x_max, y_max : float
        The rectangle in pixels, from the image's upper left corner; it may reach beyond the image.
    """

    name: str
    landmark: str
    number: int
    image: str
    x_min: float
    y_min: float
    x_max: float
    y_max: float


class GroundTruth(NamedTuple):
    """All queries, and the images that are listed for each.

    Attributes
    ----------
    queries : tuple of Query
        Sorted by landmark, then by number.
    relevance : dict of str to dict of str to str
        For each query's name, the list (one of `LISTS`) that each image is in. An image that is in none is no answer.
    """

    queries: tuple[Query, ...]
    relevance: dict[str, dict[str, str]]


class _Line(NamedTuple):
    """Where a line stands, for whoever has to mend it."""

    file: Path
    number: int
    text: str

    def refuse(self, why: str) -> NoReturn:
        raise LookalikeError(f"{self.file}, line {self.number}: {why}")


class _Files(NamedTuple):
    """What the files of one query say, each fact with its line."""

    query: Query
    line: _Line
    listed: dict[str, tuple[str, _Line]]


def read_lists(folder: str | os.PathLike[str]) -> GroundTruth:
    """Read a ground-truth folder by itself: names of images only, whether or not there are any images.

    Parameters
    ----------
    folder : str or path-like
        The folder of text files. Hidden files, and files that are no ``.txt``, are left alone.

    Returns
    -------
    GroundTruth
        A name that a list repeats counts once.

    Raises
    ------
    LookalikeError
        When the folder holds no query, a query lacks a file, a file's name or a line is malformed; the message names
        file and line.
    """
    files = _read_folder(Path(folder))
    return GroundTruth(
        tuple(one.query for one in files),
        {one.query.name: {image: kind for image, (kind, _) in one.listed.items()} for one in files},
    )


def read_ground_truth(folder: str | os.PathLike[str], manifest: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read a ground-truth folder for the images of a manifest.

    Parameters
    ----------
    folder : str or path-like
        As for `read_lists`.
    manifest : DataFrame
        As `lookalike.datasets.scan.scan_photographs` makes it.

    Returns
    -------
    queries : DataFrame
        A row per query, sorted by landmark, then by number: ``query`` and ``landmark`` (str), ``image_id`` int32,
        ``x_min``, ``y_min``, ``x_max`` and ``y_max`` float64 in pixels.
    relevance : DataFrame
        A row per query and listed image, queries in the order of `queries` and then by image: ``query`` (str),
        ``image_id`` int32, ``relevance`` (one of `LISTS`).

    Raises
    ------
    LookalikeError
        As for `read_lists`, and when an image is not in the manifest, is there twice, is no usable image, or does not
        show the query's rectangle, or a query's own image is neither good nor ok for it; the message names file and
        line.
    """
    import pandas as pd

    images = _images_by_stem(manifest)
    queries, relevance = [], []
    for query, line, listed in _read_folder(Path(folder)):
        image = _find(images, query.image, line)
        _check_overlap(query, image, line)
        _check_own_list(query, line, listed)
        queries.append((query.name, query.landmark, image.image_id, *query[4:]))
        found = {_find(images, name, where).image_id: kind for name, (kind, where) in listed.items()}
        relevance += [(query.name, image_id, found[image_id]) for image_id in sorted(found)]
    box = dict.fromkeys(("x_min", "y_min", "x_max", "y_max"), "float64")
    return (
        pd.DataFrame(queries, columns=["query", "landmark", "image_id", *box]).astype({"image_id": "int32"} | box),
        pd.DataFrame(relevance, columns=["query", "image_id", "relevance"]).astype({"image_id": "int32"}),
    )


def write_ground_truth(
    folder: str | os.PathLike[str], queries: Iterable[Query], lists: Mapping[str, Mapping[str, str]]
) -> None:
    """Write queries and lists as text files that `read_lists` reads back; the same facts give the same bytes.

    Parameters
    ----------
    folder : str or path-like
        Where the files go; made as needed. Files of other queries there are left alone.
    queries : iterable of Query
        Coordinates are written with as few digits as bring them back.
    lists : mapping of str to mapping of str to str
        As `GroundTruth.relevance`; lists are written in the order of the images' names.

    Raises
    ------
    LookalikeError
        When a query could not be read back: a name that the format does not allow, an empty rectangle, an image in a
        list of another name; or when the disk is full.
    """
    for query in queries:
        listed = lists.get(query.name, {})
        _check_writable(query, listed)
        box = " ".join(_number_text(value) for value in query[4:])
        _write(Path(folder) / f"{query.name}_query.txt", [f"{_PREFIX}{query.image} {box}"])
        for kind in LISTS:
            names = sorted(image for image, its_kind in listed.items() if its_kind == kind)
            _write(Path(folder) / f"{query.name}_{kind}.txt", names)


def landmarks_of(folder: str | os.PathLike[str]) -> list[str]:
    """Return the landmarks that a ground-truth folder has queries for, sorted, from the names of its files alone.

    Cheap enough for planning: nothing is read. A folder that is missing has none.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    matches = (_FILE_NAME.fullmatch(name) for name in names if not name.startswith("."))
    return sorted({match["landmark"] for match in matches if match is not None and match["kind"] == "query"})


def landmarks_with(folder: str | os.PathLike[str], n_positives: int) -> list[str]:
    """Return the landmarks of a ground-truth folder that have enough images to learn from, sorted.

    Cheap enough for planning: only the text files are read. What counts is what
    `lookalike.studies.landmark.protocol.draw_learning_images` draws positives from.

    Parameters
    ----------
    folder : str or path-like
        As for `read_lists`. A folder that is missing has no landmarks.
    n_positives : int
        A landmark needs one image more than that to learn from, so that one is left to be found. With 7 those of the
        Oxford Buildings are the 7 of 11 that the SOML paper (AAAI 2014) shows.

    Returns
    -------
    list of str
        Landmarks with more than `n_positives` images that are good or ok for one of their queries, junk for none, and
        no query themselves.

    Raises
    ------
    LookalikeError
        As for `read_lists`, when the folder is there.
    """
    if not Path(folder).is_dir():
        return []
    queries, relevance = read_lists(folder)
    wanted: dict[str, set[str]] = {}
    unwanted: dict[str, set[str]] = {}
    for query in queries:
        images = wanted.setdefault(query.landmark, set())
        images.update(image for image, kind in relevance[query.name].items() if kind != "junk")
        others = unwanted.setdefault(query.landmark, {query.image})
        others.update([query.image], (image for image, kind in relevance[query.name].items() if kind == "junk"))
    return [landmark for landmark in sorted(wanted) if len(wanted[landmark] - unwanted[landmark]) > n_positives]


def _read_folder(folder: Path) -> list[_Files]:
    """Read every query of a folder, sorted by landmark and number."""
    found = [_read_query(path, match) for path, match in _query_files(folder)]
    found.sort(key=lambda query_and_line: query_and_line[0][1:3])
    return [_read_query_lists(folder, query, line) for query, line in found]


def _query_files(folder: Path) -> list[tuple[Path, re.Match[str]]]:
    """Query files of a folder, after checking that every text file in it belongs to a query."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".txt") and not name.startswith("."))
    except OSError as error:
        raise LookalikeError(
            f"cannot list the ground truth {folder}: {error.strerror}; give the folder that holds {_FORMAT}"
        ) from error
    matches: dict[tuple[str, str], dict[str, re.Match[str]]] = {}
    for name in names:
        match = _FILE_NAME.fullmatch(name)
        if match is None:
            raise LookalikeError(f"{folder / name}: a ground-truth file is called {_FORMAT}; rename or remove it")
        if not _ALLOWED.fullmatch(name):
            raise LookalikeError(
                f"{folder / name}: a landmark's name becomes part of a path, so it has only letters without accents, "
                "digits, '.', '_' and '-': rename the files of that landmark"
            )
        matches.setdefault((match["landmark"], match["number"]), {})[match["kind"]] = match
    for (landmark, number), found in matches.items():
        for kind in ("query", *LISTS):
            if kind not in found:
                raise LookalikeError(
                    f"{folder} has {next(iter(found.values())).string} but no {landmark}_{number}_{kind}.txt: "
                    "add it (a list may be empty), or remove the other files of that query"
                )
    if not matches:
        raise LookalikeError(f"{folder} holds no ground truth: put its files there ({_FORMAT})")
    return [(folder / found["query"].string, found["query"]) for found in matches.values()]


def _read_query(file: Path, match: re.Match[str]) -> tuple[Query, _Line]:
    """Parse a query file: one line of an image's name and four numbers."""
    lines = _lines(file)
    if len(lines) != 1:
        where = lines[1] if lines else _Line(file, 1, "")
        where.refuse(f"a query is one line, {_PREFIX}<image> x1 y1 x2 y2, and the file has {len(lines)}: mend it")
    line = lines[0]
    fields = line.text.split()
    if len(fields) > 5:
        line.refuse(
            f"{len(fields)} fields instead of 5 ({_PREFIX}<image> x1 y1 x2 y2): names hold no blanks: rename the "
            "image if its name has one, else take out what is too much"
        )
    if len(fields) < 5:
        line.refuse(f"{len(fields)} fields instead of 5 ({_PREFIX}<image> x1 y1 x2 y2): mend the line")
    x_min, y_min, x_max, y_max = (_coordinate(text, line) for text in fields[1:])
    if x_min >= x_max or y_min >= y_max:
        line.refuse(
            f"the rectangle {' '.join(fields[1:])} is empty: x1 must be less than x2, and y1 less than y2; mend it"
        )
    name = f"{match['landmark']}_{match['number']}"
    image = fields[0].removeprefix(_PREFIX)
    return Query(name, match["landmark"], int(match["number"]), image, x_min, y_min, x_max, y_max), line


def _read_query_lists(folder: Path, query: Query, query_line: _Line) -> _Files:
    """Read the three lists of a query."""
    listed: dict[str, tuple[str, _Line]] = {}
    for kind in LISTS:
        for line in _lines(folder / f"{query.name}_{kind}.txt"):
            image = line.text
            if len(image.split()) != 1:
                line.refuse(
                    f"{len(image.split())} fields instead of one image's name: names hold no blanks: rename the "
                    "image if its name has one, else give each name a line of its own"
                )
            other, where = listed.setdefault(image, (kind, line))
            if other != kind:
                line.refuse(
                    f"{image} is in {where.file.name} too (line {where.number}): an image can be only one of "
                    f"{', '.join(LISTS)}; remove one of the two lines"
                )
    return _Files(query, query_line, listed)


def _lines(file: Path) -> list[_Line]:
    """Lines of a text file that hold anything, each with its number from 1."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise LookalikeError(f"cannot read {file}: {error.strerror}; mend its permissions") from error
    lines = []
    for number, raw in enumerate(content.splitlines(), start=1):
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            _Line(file, number, "").refuse("it is not UTF-8: save the file as UTF-8 text")
        if text:
            lines.append(_Line(file, number, text))
    return lines


def _coordinate(text: str, line: _Line) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        line.refuse(f"{text!r} is not a number: a query is {_PREFIX}<image> x1 y1 x2 y2, in pixels; mend the line")
    return value


class _Image(NamedTuple):
    """What of the manifest concerns the ground truth."""

    image_id: int
    path: str
    width: int
    height: int
    status: str
    reason: str


def _images_by_stem(manifest: pd.DataFrame) -> dict[str, list[_Image]]:
    """Rows of the manifest by the name that ground truth has for them; what is no image cannot be named."""
    columns = [manifest[name].tolist() for name in _Image._fields]
    images = [_Image(*values) for values in zip(*columns, strict=True)]
    found: dict[str, list[_Image]] = {}
    for image in images:
        if image.status != "not_an_image":
            found.setdefault(PurePosixPath(image.path).stem, []).append(image)
    return found


def _find(images: Mapping[str, list[_Image]], name: str, line: _Line) -> _Image:
    named = images.get(name, [])
    if not named:
        line.refuse(f"there is no image {name}: add it to the data set's folder, or remove it from the ground truth")
    if len(named) > 1:
        line.refuse(f"{named[0].path} and {named[1].path} are both called {name} in ground truth: rename one of them")
    image = named[0]
    if image.status not in ("ok", "clutter"):
        line.refuse(
            f"{image.path} cannot be used, {image.status} ({image.reason}): replace the image, or remove it from the "
            "ground truth"
        )
    return image


def _check_overlap(query: Query, image: _Image, line: _Line) -> None:
    """Refuse a rectangle that no descriptor can lie in."""
    if query.x_max <= 0 or query.y_max <= 0 or query.x_min >= image.width or query.y_min >= image.height:
        line.refuse(
            f"the rectangle lies beyond {image.path}, which has {image.width} x {image.height} pixels: mend the line"
        )


def _check_own_list(query: Query, line: _Line, listed: Mapping[str, tuple[str, _Line]]) -> None:
    """Refuse a query that does not find itself: its image stays in the ranking, where it would be a mistake."""
    kind, _ = listed.get(query.image, ("", line))
    if kind not in ("good", "ok"):
        line.refuse(
            f"the query's own image {query.image} is {kind or 'in none of its lists'}, and would be a mistake in every "
            f"ranking: add it to {query.name}_good.txt or {query.name}_ok.txt{', and to no other' if kind else ''}"
        )


def _check_writable(query: Query, listed: Mapping[str, str]) -> None:
    """Refuse what the reader would not take, or would take for something else."""
    problems = {
        f"its name is not {query.landmark}_{query.number}": query.name != f"{query.landmark}_{query.number}",
        "a landmark's name has only letters without accents, digits, '.', '_' and '-'": (
            not _ALLOWED.fullmatch(query.landmark) or query.landmark.startswith(".")
        ),
        "its number is negative": query.number < 0,
        "its rectangle is empty or infinite": not (
            all(math.isfinite(value) for value in query[4:]) and query.x_min < query.x_max and query.y_min < query.y_max
        ),
        f"its image begins with {_PREFIX}": query.image.startswith(_PREFIX),
    }
    for image, kind in {query.image: LISTS[0], **listed}.items():
        problems[f"an image cannot be called {image!r}"] = not image or image != "".join(image.split())
        problems[f"{image} is in a list {kind!r} that is none of {', '.join(LISTS)}"] = kind not in LISTS
    for problem, found in problems.items():
        if found:
            raise LookalikeError(f"the query {query.name} cannot be written as ground truth: {problem}; mend it")


def _number_text(value: float) -> str:
    """Shortest text that reads back as the same number; whole numbers without a point, as in the published files."""
    return str(int(value)) if value == int(value) else repr(float(value))


def _write(file: Path, lines: list[str]) -> None:
    with replacing(file) as part:
        part.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
