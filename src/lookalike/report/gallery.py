"""The gallery of the report: queries and their nearest neighbours before and after learning, for every study."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from lookalike.exhibits.model import Entry, Mark
from lookalike.report.pictures import Picture, encode_thumbnail
from lookalike.report.results import Exhibit, Results

SIDE, QUALITY = 112, 58
"""Longer side of a thumbnail in pixels, and its quality as WebP."""
CLASSES = {"-": "same", "--": "other", ":": "junk"}
"""Line of a mark to the word that the style sheet knows it by."""


class Thumbnail(NamedTuple):
    """One picture, embedded once in the page."""

    id: str
    picture: Picture


@dataclass
class Album:
    """Thumbnails of one gallery, each made once."""

    results: Path
    """Folder of results; images that lie below it are found wherever it has been moved to."""
    id: str
    """Name of the gallery."""
    _made: dict[str, Thumbnail | None] = field(default_factory=dict)

    @property
    def thumbnails(self) -> list[Thumbnail]:
        """Those that were asked for."""
        return [one for one in self._made.values() if one is not None]

    def of(self, image: str) -> Thumbnail | None:
        """Return the thumbnail of an image; None where its file is missing or damaged."""
        if image not in self._made:
            first, _, rest = image.partition("/")
            path = self.results / rest if first == "results" else self.results.parent / image
            picture = encode_thumbnail(path, SIDE, QUALITY)
            id = f"picture-{self.id}-{len(self._made)}"
            self._made[image] = Thumbnail(id, picture) if picture is not None else None
        return self._made[image]


class Query(NamedTuple):
    """One query whose image can be read."""

    id: str
    entry: Entry
    thumbnail: Thumbnail

    @property
    def box(self) -> tuple[float, ...]:
        """The part that asks: left, top, width and height in pixels of the thumbnail; empty for a whole image."""
        if self.entry.box is None:
            return ()
        left, top, right, bottom = self.entry.box
        width, height = self.thumbnail.picture.width, self.thumbnail.picture.height
        sides = (width * left, height * top, width * (right - left), height * (bottom - top))
        return tuple(round(side, 1) for side in sides)


class Gallery(NamedTuple):
    """The queries of one exhibit."""

    id: str
    exhibit: Exhibit
    queries: list[Query]
    album: Album

    @property
    def labels(self) -> list[str]:
        """Labels of the queries, each once, in their order."""
        return list(dict.fromkeys(query.entry.words for query in self.queries))

    @property
    def marks(self) -> list[Mark]:
        """Marks that the legend explains."""
        rankings = [ranking for query in self.queries for ranking in query.entry.rankings]
        return list(dict.fromkeys(one.mark for ranking in rankings for one in ranking.found if one.mark is not None))

    @property
    def square(self) -> bool:
        """Whether its pictures are about square; else their panels are as wide as photographs."""
        return median(query.thumbnail.picture.width / query.thumbnail.picture.height for query in self.queries) < 1.15


def galleries_of(results: Results) -> tuple[list[Gallery], list[str]]:
    """Galleries of all sidecars with entries, and a sentence for each that cannot be shown."""
    galleries, left_out = [], []
    for exhibit in results.exhibits():
        if not exhibit.entries:
            continue
        id = f"{exhibit.dataset}-{exhibit.paper}-{exhibit.name}"
        album = Album(results.folder.resolve(), id)
        entries = sorted(exhibit.entries, key=lambda entry: entry.words)
        found = [(f"query-{id}-{place}", entry, album.of(entry.image)) for place, entry in enumerate(entries, start=1)]
        queries = [Query(name, entry, thumbnail) for name, entry, thumbnail in found if thumbnail is not None]
        if queries:
            galleries.append(Gallery(id, exhibit, queries, album))
        else:
            left_out.append(f"{exhibit.dataset_title}: its images are not in place any more; put them back.")
    return galleries, left_out
