"""The gallery of the report: a query and its nearest neighbours before and after learning, for every data set.

It stands for what the papers show as pictures (JMLR Tables 2 and 3, Figure 7 of Deep Ranking), of more queries than fit
on paper. What is shown is read by a module for each study; thumbnails are embedded once in the page and used by
reference, so that it reads, prints and works from a file without a network and without scripts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

from lookalike.core.errors import LookalikeError
from lookalike.report._gallery_files import StudyFolder
from lookalike.report._gallery_model import RANDOM, DatasetGallery, GallerySettings

__all__ = ["DatasetGallery", "GalleryMaterial", "GalleryParts", "GallerySettings", "gallery_material", "gallery_parts"]


class GalleryParts(NamedTuple):
    """What the page of the gallery adds to the frame of the report."""

    html: str
    """Content of ``<main>``, with the only ``<h1>``; everything in it is escaped."""
    css: str
    """Goes after the style of the report, whose colours it uses."""
    script: str
    """Goes to the end of ``<body>``; the page reads without it."""


@dataclass(frozen=True)
class GalleryMaterial:
    """What the page shows."""

    galleries: tuple[DatasetGallery, ...]
    """One for each data set, in the order of studies, then by name."""
    left_out: tuple[str, ...] = ()
    """A sentence for each data set that has rankings and no gallery."""

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.galleries)


def gallery_material(
    results_folder: str | os.PathLike[str],
    *,
    configuration: Mapping[str, Any] | None = None,
    seed: int | None = None,
    settings: GallerySettings | None = None,
) -> GalleryMaterial:
    """Read the rankings and thumbnails of every data set below a folder of results.

    Parameters
    ----------
    results_folder : path-like
        ``results/``. Paths of images are relative to the folder it lies in, as in the workflow.
    configuration : mapping, optional
        The merged configuration: titles and kinds of data sets, where rated triplets have their images, and the seed.
    seed : int, optional
        Root seed of the choice of queries; by default that of `configuration`, else 0.
    settings : GallerySettings, optional
        How many queries and images, and how large.

    Returns
    -------
    GalleryMaterial
        A data set whose runs or images are not there is left out, with a sentence; that is no error.
    """
    root_seed = int((configuration or {}).get("seed") or 0) if seed is None else seed
    made = list(_galleries(Path(results_folder).resolve(), configuration, root_seed, settings or GallerySettings()))
    return GalleryMaterial(
        tuple(one for one in made if isinstance(one, DatasetGallery)),
        tuple(one for one in made if isinstance(one, str)),
    )


def gallery_parts(material: GalleryMaterial) -> GalleryParts:
    """Return the content, the style and the script of the page of the gallery.

    Parameters
    ----------
    material : GalleryMaterial
        From `gallery_material`; with nothing to show the page says why.

    Returns
    -------
    GalleryParts
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("lookalike.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    content = environment.get_template("gallery.html").render(
        galleries=material.galleries, left_out=material.left_out, drawn_at_random=RANDOM
    )
    style, script = (
        files("lookalike.report").joinpath("static", name).read_text(encoding="utf-8")
        for name in ("gallery.css", "gallery.js")
    )
    return GalleryParts(content, style, script)


def _galleries(
    results: Path, configuration: Mapping[str, Any] | None, seed: int, settings: GallerySettings
) -> Iterator[DatasetGallery | str]:
    """A gallery or a sentence for each data set that has rankings of any kind, study after study."""
    from lookalike.report._gallery_category import category_gallery
    from lookalike.report._gallery_finegrained import finegrained_gallery
    from lookalike.report._gallery_landmark import landmark_gallery

    makers = {"category": category_gallery, "landmark": landmark_gallery, "finegrained": finegrained_gallery}
    found = [(_study_by_files(folder), StudyFolder(folder, configuration)) for folder in sorted(results.glob("*/"))]
    for name, make in makers.items():
        for study in (study for kind, study in found if kind == name):
            try:
                yield make(study, settings, seed=seed)
            except _UNREADABLE as error:
                # results of another version, or cut short: the report shows what it can
                yield f"{study.title}: its rankings cannot be read ({_brief(error)}); run its workflow again."


_UNREADABLE = (LookalikeError, OSError, ValueError, KeyError, IndexError, EOFError, BadZipFile)


def _brief(error: BaseException) -> str:
    """First line of an error, with its kind where it is but a name."""
    text = (str(error).splitlines() or [""])[0]
    return f"no {text}" if isinstance(error, KeyError) else text or type(error).__name__


def _study_by_files(folder: Path) -> str:
    """Which study a folder of results is of, by the files that it alone has; "" for any other folder."""
    if not (folder / "manifest.parquet").is_file():
        return ""
    if (folder / "pairs.parquet").is_file():
        return "finegrained"
    if not any(folder.glob("runs/*/*/*/*/ranks.npz")):
        return ""
    return "landmark" if (folder / "queries.parquet").is_file() else "category"
