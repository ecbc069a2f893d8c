"""A page of rankings: query images and their neighbours, in one file that works without a network or a script."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from lookalike.app.learning import TRAIN
from lookalike.app.similarity import Similarity
from lookalike.core.errors import LookalikeError, escaped_in_page
from lookalike.core.files import PathLike, write_text
from lookalike.report.pictures import Picture, encode_thumbnail

QUERY_SIDE, NEIGHBOUR_SIDE, QUALITY = 400, 240, 82
"""Longer side of the pictures, in pixels, and their quality as WebP."""


def write_page(
    results: Sequence[Mapping[str, Any]], gallery: PathLike, output: PathLike, *, title: str, model: Similarity
) -> None:
    """Write rankings in a folder, as ``lookalike rank --json`` has them, as one HTML file, which says what ranked."""
    root = Path(gallery)
    picture = cache(lambda path: _thumbnail(path, NEIGHBOUR_SIDE))
    learner = model.about()["learner"]["name"]
    learned_from = set(model.rows_.loc[model.rows_["role"] == TRAIN, "content"])
    names = {"neighbours": f"After learning ({learner})", "before_learning": "Before learning (Euclidean distance)"}
    queries = []
    for result in results:
        query = Path(result["query"])
        rankings = {
            title: [(row, picture(root / row["path"])) for row in result[name]]
            for name, title in names.items()
            if name in result
        }
        seen = hashlib.sha256(query.read_bytes()).hexdigest() in learned_from
        facts = {"path": str(query), "label": label_in(query, root), "learned_from": seen, "rankings": rankings}
        queries.append(facts | {"picture": _thumbnail(query, QUERY_SIDE)})
    text = files("lookalike.app").joinpath("neighbours.html").read_text(encoding="utf-8")
    how: Any = {"trim_blocks": True, "lstrip_blocks": True, "finalize": escaped_in_page}
    environment = Environment(autoescape=True, undefined=StrictUndefined, **how)
    page = environment.from_string(text).render(
        title=title, queries=queries, learner=learner, gallery=str(gallery), marked=any(q["label"] for q in queries)
    )
    write_text(page, output)


def label_in(query: Path, gallery: Path) -> str | None:
    """Return the folder of the gallery that a query lies in; None for one that lies elsewhere or in no folder of it."""
    inside, root = query.resolve(), gallery.resolve()
    parts = inside.relative_to(root).parts if inside.is_relative_to(root) else ()
    return parts[0] if len(parts) > 1 else None


def _thumbnail(path: Path, side: int) -> Picture:
    """Return a picture whose longer side is at most so many pixels."""
    picture = encode_thumbnail(path, side, QUALITY)
    if picture is None:
        raise LookalikeError(f"the page cannot show {path}, which could be read before: rank again")
    return picture
