"""The page on which a person rates a plan: one HTML file with its pictures inside, which needs no network.

Stands between `lookalike.studies.human.questionnaire` and `lookalike.studies.human.collect`. The page knows pictures by
their places alone: neither which of them were retrieved, nor a file name, nor an image id, which would follow the order
of the classes.
"""

from __future__ import annotations

import base64
import html
import io
import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from lookalike.core.errors import LookalikeError
from lookalike.core.files import replacing
from lookalike.studies.human.questionnaire import plan_fingerprint

JPEG_QUALITY = 85


def write_page(
    plan: pd.DataFrame,
    image_root: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    title: str = "Which images are similar?",
    thumbnail: int = 200,
    query_thumbnail: int = 400,
) -> None:
    """Write the rating page of a plan (JMLR 5.2.3 and Appendix A).

    Parameters
    ----------
    plan : DataFrame
        From `draw_plan`.
    image_root : path-like
        The folder that the plan's paths are relative to.
    output : path-like
        The HTML file.
    title : str
        Heading of the page.
    thumbnail, query_thumbnail : int
        Longer side, in pixels, of the candidates and of the query image; smaller images stay as they are.

    Raises
    ------
    LookalikeError
        When an image is missing or damaged; the message names it.
    """
    root = Path(image_root)
    if not root.is_dir():
        raise LookalikeError(f"there is no folder of images {root}: name the folder that the plan's paths start from")
    shown = plan.sort_values(["query", "position"])
    queries = shown.drop_duplicates("query")
    # numbered as they come up, so that a number says nothing of an image; one that is shown twice is embedded once
    number_of = {path: number for number, path in enumerate(dict.fromkeys(shown["path"]))}
    content = {
        "plan": plan_fingerprint(plan),
        "title": title,
        "queries": [
            {
                "query": int(rows["query"].iloc[0]),
                "candidates": [
                    [int(position), number_of[path]]
                    for position, path in zip(rows["position"], rows["path"], strict=True)
                ],
            }
            for _, rows in shown.groupby("query", sort=True)
        ],
        "query_pictures": [_data_uri(root, path, query_thumbnail) for path in queries["query_path"]],
        "pictures": [_data_uri(root, path, thumbnail) for path in number_of],
    }
    page = _fill(
        files("lookalike.studies.human").joinpath("page.html").read_text(encoding="utf-8"),
        {"@@TITLE@@": html.escape(title), "@@CONTENT@@": _json_for_html(content)},
    )
    with replacing(output) as part:
        part.write_text(page, encoding="utf-8")


def _data_uri(root: Path, path: str, size: int) -> str:
    """One image, upright and small, as a JPEG data URI without any metadata."""
    from PIL import Image

    from lookalike.core.images import load_rgb

    try:
        picture = Image.fromarray(load_rgb(root / path))
    except LookalikeError as error:
        raise LookalikeError(f"the image {path} of the plan cannot be shown: {error}; mend it in {root}") from error
    picture.thumbnail((size, size), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def _json_for_html(content: Any) -> str:
    """JSON that no text inside it can close the script element of."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _fill(template: str, values: dict[str, str]) -> str:
    """Put values in the place of their marks in one pass, so that a value may hold anything."""
    parts = re.split("(@@[A-Z]+@@)", template)
    if set(parts[1::2]) != set(values):
        raise ValueError(f"the template of the rating page has the marks {sorted(set(parts[1::2]))}")
    return "".join(values[part] if place % 2 else part for place, part in enumerate(parts))
