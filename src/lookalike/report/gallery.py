"""The gallery of the report: queries and their nearest neighbours before and after learning, for every study."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import NamedTuple

from lookalike.exhibits.model import Entry, Mark
from lookalike.exhibits.neighbours import median_first
from lookalike.report.pictures import Picture, encode_thumbnail
from lookalike.report.results import Results, ShownExhibit

SIDE, QUALITY = 112, 58
"""Longer side of a thumbnail in pixels, and its quality as WebP."""
CLASSES = {"-": "same", "--": "other", ":": "junk"}
"""Line of a mark to the word that the style sheet knows it by."""


class Thumbnail(NamedTuple):
    """One picture, embedded once in the page."""

    id: str
    picture: Picture


class Album(dict[str, Thumbnail | None]):
    """Thumbnails of a gallery by image, made when first asked for; None where a file is missing or damaged."""

    def __init__(self, results: Path, id: str) -> None:
        self._results, self._id = results, id

    def __missing__(self, image: str) -> Thumbnail | None:
        # images below the folder of results are found wherever that has been moved to
        first, _, rest = image.partition("/")
        path = self._results / rest if first == "results" else self._results.parent / image
        picture = encode_thumbnail(path, SIDE, QUALITY)
        self[image] = Thumbnail(f"picture-{self._id}-{len(self)}", picture) if picture is not None else None
        return self[image]


class QueryGallery(NamedTuple):
    """The queries of one exhibit."""

    id: str
    exhibit: ShownExhibit
    queries: list[Entry]
    """Those whose images can be read."""
    album: Album

    @property
    def marks(self) -> list[Mark]:
        """Marks that the legend explains, that of right images first."""
        rankings = [ranking for query in self.queries for ranking in query.rankings]
        found = dict.fromkeys(found.mark for ranking in rankings for found in ranking.found)
        return sorted(found, key=lambda mark: mark.line)

    @property
    def problem(self) -> str:
        """Say which of the images that were asked for are missing or damaged; "" where none is."""
        missing = [image for image, thumbnail in self.album.items() if thumbnail is None]
        what = f"{len(missing)} of the gallery's {len(self.album)} images cannot be read, such as"
        return f"{what} {missing[0]}: put them back, and run the same command again." if missing else ""

    @property
    def square(self) -> bool:
        """Tell whether its pictures are about square; else their panels are as wide as photographs."""
        pictures = [thumbnail.picture for query in self.queries if (thumbnail := self.album[query.image])]
        return median(picture.width / picture.height for picture in pictures) < 1.15


def galleries_of(results: Results) -> tuple[list[QueryGallery], list[tuple[ShownExhibit, str]]]:
    """Return the galleries of all sidecars with entries, and the exhibits that cannot be shown, each with why."""
    galleries, left_out = [], []
    for exhibit in results.exhibits():
        if not exhibit.entries:
            continue
        id = f"{exhibit.dataset}-{exhibit.paper}-{exhibit.name}"
        album = Album(results.folder.resolve(), id)
        if queries := [entry for entry in median_first(exhibit.entries) if album[entry.image]]:
            galleries.append(QueryGallery(id, exhibit, queries, album))
        else:
            left_out.append((exhibit, "its images are not in place any more; put them back."))
    return galleries, left_out
