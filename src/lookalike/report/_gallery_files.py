"""Where the material of a gallery lies: titles, folders of images, and thumbnails as data URIs."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.report._gallery_model import Box, GallerySettings, Picture

if TYPE_CHECKING:
    import pandas as pd


class StudyFolder:
    """The results of one data set, and what is known of it besides.

    Parameters
    ----------
    folder : Path
        ``results/{dataset}``.
    configuration : mapping, optional
        The merged configuration; only the entry of the data set under ``datasets`` is used.
    """

    def __init__(self, folder: Path, configuration: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.dataset = folder.name
        known = ((configuration or {}).get("datasets") or {}).get(self.dataset)
        self.settings: Mapping[str, Any] = known if isinstance(known, dict) else {}

    @cached_property
    def sidecars(self) -> list[dict[str, Any]]:
        """The JSON files of its exhibits, by path; those that cannot be read are left out."""
        read = (json_object(path) for path in sorted(self.folder.glob("exhibits/*/*.json")))
        return [sidecar for sidecar in read if sidecar.get("dataset") == self.dataset]

    @cached_property
    def title(self) -> str:
        """How captions call the data set."""
        told = next((str(sidecar["dataset_title"]) for sidecar in self.sidecars if sidecar.get("dataset_title")), "")
        return str(self.settings.get("title") or told or self.dataset)

    @cached_property
    def kind(self) -> str:
        """Kind of the data, as the configuration or the file of the images' place has it; "" where neither does."""
        return str(self.settings.get("kind") or json_object(self.folder / "images.json").get("kind") or "")

    @cached_property
    def synthetic(self) -> bool:
        """Whether its images are made by code."""
        if self.kind:
            return self.kind.startswith("synthetic")
        # only images made by code leave marks of having been drawn
        return (self.folder / "drawn").is_dir() or any(sidecar.get("synthetic") for sidecar in self.sidecars)

    @property
    def images(self) -> str:
        """How captions begin to speak of the data."""
        return f"{'Synthetic images' if self.synthetic else 'Images'} of {self.title}"

    @cached_property
    def manifest(self) -> pd.DataFrame:
        """``image_id``, ``path``, ``label``, ``bytes``, ``width``, ``height`` of its images."""
        from lookalike.core.files import read_table

        table: pd.DataFrame = read_table(self.folder / "manifest.parquet")
        return table

    @cached_property
    def labels(self) -> dict[int, str]:
        """Image id to class, "" where it is not known."""
        return _lookup(self.manifest, "label")

    def root(self) -> Path | None:
        """Folder of the images: the first of the likely ones that holds an image of the manifest; None without one."""
        readable = self.manifest
        if "status" in readable:
            readable = readable[readable["status"] == "ok"]
        paths = [str(path) for path in readable["path"].iloc[:: max(1, len(readable) // 8)]]
        return next((place for place in self._places() if any((place / path).is_file() for path in paths)), None)

    def _places(self) -> Iterator[Path]:
        """Where the images may be, the likeliest first. Paths are relative to the folder that holds ``results/``."""
        named = [json_object(self.folder / "images.json").get("root"), self.settings.get("path")]
        for place in (Path(str(name)) for name in named if name):
            yield self.folder.parent.parent / place
            yield place
            # results that were moved as a whole
            if place.parts[:2] == ("results", self.dataset):
                yield self.folder.joinpath(*place.parts[2:])
        yield from sorted(self.folder.glob("images/*/"), key=lambda place: place.stat().st_mtime, reverse=True)

    def why_without_images(self) -> str:
        """Return the sentence that stands in place of a gallery whose images are gone."""
        named = json_object(self.folder / "images.json").get("root") or self.settings.get("path")
        at = f" at {named}" if named else ""
        return f"{self.title}: its images are not{at} any more; put them back, then make the report again."


class Pictures:
    """Thumbnails of one data set, each made once.

    Parameters
    ----------
    study : StudyFolder
    root : Path
        Folder of the images.
    settings : GallerySettings
    """

    def __init__(self, study: StudyFolder, root: Path, settings: GallerySettings) -> None:
        self._study, self._root, self._settings = study, root, settings
        self._paths = _lookup(study.manifest, "path")
        self._made: dict[int, Picture | None] = {}

    def of(self, image_id: int) -> Picture | None:
        """Return the thumbnail of an image; None where its file is missing or damaged."""
        if image_id not in self._made:
            self._made[image_id] = self._make(image_id)
        return self._made[image_id]

    def box(self, image_id: int, corners: tuple[float, float, float, float]) -> Box | None:
        """Scale a rectangle of an image (left, top, right, bottom, in pixels) to its thumbnail."""
        picture, widths = self.of(image_id), _lookup(self._study.manifest, "width")
        if picture is None or not int(widths.get(image_id, 0)):
            return None
        scale = picture.width / int(widths[image_id])
        left, top, right, bottom = (round(scale * corner, 1) for corner in corners)
        return Box(left, top, round(right - left, 1), round(bottom - top, 1))

    def _make(self, image_id: int) -> Picture | None:
        from PIL import Image

        from lookalike.core.images import load_rgb

        try:
            picture = Image.fromarray(load_rgb(self._root / self._paths[image_id]))
        except (LookalikeError, KeyError):
            return None
        picture.thumbnail((self._settings.side, self._settings.side), Image.Resampling.LANCZOS)
        stream = io.BytesIO()
        picture.save(stream, "WEBP", quality=self._settings.quality, method=5)
        uri = "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
        return Picture(f"picture-{self._study.dataset}-{image_id}", *picture.size, uri)


def _lookup(manifest: pd.DataFrame, column: str) -> dict[int, Any]:
    return dict(zip(manifest["image_id"].tolist(), manifest[column].tolist(), strict=True))


def json_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file; an empty one where there is none, or it was cut short."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
