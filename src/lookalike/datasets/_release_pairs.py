"""Two rows of ratings to one triplet: which positive belongs to which negative, and which triplets may stay.

A release writes a triplet as two rows with the same query, one rated alike and one not. Rows are paired before any
image is looked at, triplets are judged by the contents of their images, not by the files' names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from lookalike.datasets._release_rows import RatingRow, Rejections

_ROWS = 2
"""Rows of a triplet: what one rejected triplet counts for."""


class RowPair(NamedTuple):
    """The two rows of a triplet."""

    positive: RatingRow
    negative: RatingRow


class Triplet(NamedTuple):
    """A triplet by the image ids of its contents; the order of the fields is the order in which triplets are sorted."""

    text_query: str
    query: int
    positive: int
    negative: int
    kind: str


def pair_rows(rows: Iterable[RatingRow], rejections: Rejections) -> list[RowPair]:
    """Pair the rows of triplets.

    Rows of one file that share the column ``Triplet``, or where there is none the query (its name and path) and the
    text query, belong together. One positive and one negative among them are a triplet in whatever order they come.
    Where a query has several triplets, rows that follow one another with opposite ratings are one.

    Parameters
    ----------
    rows : iterable of RatingRow
        In the order of their files.
    rejections : Rejections
        Takes rows that are left over, are there twice, or contradict each other.
    """
    groups: dict[tuple[str, ...], list[RatingRow]] = {}
    for row in rows:
        key = (row.triplet,) if row.triplet else ("", row.name1, row.path1)
        groups.setdefault((row.file, row.text_query, *key), []).append(row)
    return [pair for group in groups.values() for pair in _pair_group(group, rejections)]


def keep_triplets(
    pairs: Sequence[RowPair],
    image_of: Callable[[RatingRow, int], int | None],
    is_usable: Callable[[int], bool],
    rejections: Rejections,
) -> list[Triplet]:
    """Keep the triplets whose images can be used and that no other contradicts.

    Parameters
    ----------
    pairs : sequence of RowPair
    image_of : callable
        ``image_of(row, 1 | 2)`` is the id of an image's content, None where there is no file.
    is_usable : callable
        Whether the image of an id was decoded.
    rejections : Rejections
        Takes the others, two rows each.

    Returns
    -------
    list of Triplet
        Each once, sorted.
    """
    kept: dict[tuple[str, int, int, int], tuple[Triplet, list[str]]] = {}
    for pair in pairs:
        queries = [query for row in pair if (query := image_of(row, 1)) is not None]
        ids = (queries[0] if queries else None, image_of(pair.positive, 2), image_of(pair.negative, 2))
        example = f"{pair.positive.example} | {pair.negative.path2 or pair.negative.name2}"
        reason = "rows of one triplet with different queries" if len(set(queries)) > 1 else _why_not(ids, is_usable)
        if reason:
            rejections.add(reason, example, _ROWS)
            continue
        query, positive, negative = (int(image) for image in ids if image is not None)
        triplet = Triplet(pair.positive.text_query, query, positive, negative, pair.positive.kind)
        same = kept.setdefault(triplet[:4], (triplet, []))
        if triplet < same[0]:  # of copies that differ in kind, the same one whatever the order of rows
            kept[triplet[:4]] = (triplet, same[1])
        same[1].append(example)
    return _consistent(kept, rejections)


def _consistent(
    found: dict[tuple[str, int, int, int], tuple[Triplet, list[str]]], rejections: Rejections
) -> list[Triplet]:
    """Triplets that are not rated the other way round as well, whatever the text query; copies are counted."""
    rated = {key[1:] for key in found}
    kept = []
    for triplet, examples in found.values():
        if (triplet.query, triplet.negative, triplet.positive) in rated:
            rejections.add("rated both ways", min(examples), _ROWS * len(examples))
            continue
        kept.append(triplet)
        if len(examples) > 1:
            rejections.add("triplet that is there already", min(examples), _ROWS * (len(examples) - 1))
    return sorted(kept)


def _why_not(ids: tuple[int | None, int | None, int | None], is_usable: Callable[[int], bool]) -> str:
    """Why a triplet of these images is none; "" where it is one."""
    if None in ids:
        return "triplet with an image that is missing"
    if not all(is_usable(image) for image in ids if image is not None):
        return "triplet with an image that cannot be used"
    query, positive, negative = ids
    if query in (positive, negative):
        return "query is the same picture as the positive or negative"
    return "positive and negative are the same picture" if positive == negative else ""


def _pair_group(rows: list[RatingRow], rejections: Rejections) -> list[RowPair]:
    """Pair the rows of one query, or of one triplet."""
    distinct: dict[tuple[str, ...], RatingRow] = {}
    for row in rows:
        distinct.setdefault(_says(row), row)
    # without a path, name and rating together say which image it is: those of the public release are named by triplet
    others = {(row.name2, row.path2 or row.sign) for row in distinct.values()}
    if len(others) < len(distinct) == 2 * len(others) <= 4:
        # one or two images, each rated alike and not alike: nothing says what was meant
        rejections.add("rated both ways", min(row.example for row in rows), len(rows))
        return []
    if len(distinct) == _ROWS and len({row.sign for row in distinct.values()}) == _ROWS:
        copies = rows[_ROWS:]  # as many as are too many
        if copies:
            rejections.add("row that is there already", min(row.example for row in rows), len(copies))
        return [_row_pair(*distinct.values())]
    pairs = _neighbours(rows)
    paired = {_says(row) for pair in pairs for row in pair}
    taken = {id(row) for pair in pairs for row in pair}
    left = [row for row in rows if id(row) not in taken]
    for row in left:
        is_copy = _says(row) in paired
        rejections.add("row that is there already" if is_copy else "row without its counterpart", row.example)
    return pairs


def _says(row: RatingRow) -> tuple[str, ...]:
    """What a row says, wherever it stands."""
    return (row.name1, row.path1, row.name2, row.path2, str(row.sign))


def _neighbours(rows: list[RatingRow]) -> list[RowPair]:
    """Pairs of rows that follow one another with opposite ratings.

    Where rows are lacking, the usual order of the two (positive or negative first) tells the neighbours of one triplet
    from those of two, each of which lacks a row.
    """
    pairs = _greedy(rows, (1, -1))
    if _ROWS * len(pairs) < len(rows):
        oriented = [_greedy(rows, (first,)) for first in (1, -1)]
        pairs = max(oriented, key=len)  # the first of equals
    return pairs


def _greedy(rows: list[RatingRow], firsts: tuple[int, ...]) -> list[RowPair]:
    """Pair each row with the next one of the opposite rating, if a pair may begin with it."""
    pairs, at = [], 0
    while at + 1 < len(rows):
        first, second = rows[at], rows[at + 1]
        if first.sign in firsts and second.sign == -first.sign:
            pairs.append(_row_pair(first, second))
            at += 1
        at += 1
    return pairs


def _row_pair(first: RatingRow, second: RatingRow) -> RowPair:
    return RowPair(first, second) if first.sign > 0 else RowPair(second, first)
