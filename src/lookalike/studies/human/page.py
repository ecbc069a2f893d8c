"""The page on which a person rates a plan: one HTML file with its pictures inside, which needs no network."""

from __future__ import annotations

import base64
import html
import io
import json
from importlib.resources import files
from pathlib import Path

import pandas as pd
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike, check_folder, replacing
from lookalike.core.images import thumbnail_of
from lookalike.data.path_finder import locate
from lookalike.studies.human.questionnaire import plan_fingerprint

QUERY_SIDE, CANDIDATE_SIDE = 400, 200
"""Pixels of the longer side of a query and of a candidate; smaller images stay as they are."""
UNSAFE = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Letters by which text in JSON could close its script element or break a line."""


def write_page(
    plan: pd.DataFrame, image_root: PathLike, output: PathLike, title: str = "Which images are similar?"
) -> None:
    """Write the rating page of a plan (JMLR 5.2.3 and Appendix A), whose paths are relative to `image_root`."""
    root, ordered = Path(image_root), plan.sort_values(["query", "position"])
    check_folder(root, "name the folder of images that the plan's paths start from")
    # numbered as they come up, so that a number says nothing of an image; one that is shown twice is embedded once
    ordered["number"], pictures = pd.factorize(ordered["path"])
    by_query = ordered.groupby("query")
    query_paths = by_query["query_path"].first()
    # a plan may come from somebody else, and the page is given away: no path or link leads to other images
    found, lost = locate(root, [*query_paths, *pictures], only_inside=True)
    for path, reason in lost:
        raise LookalikeError(
            f"the image {path} of the plan cannot be shown: {reason}; correct the plan, or name another folder than "
            f"{root}"
        )
    places = [(query, own[["position", "number"]].to_numpy().tolist()) for query, own in by_query]
    content = {
        "plan": plan_fingerprint(plan),
        "title": title,
        "queries": [{"query": query, "candidates": candidates} for query, candidates in places],
        "query_pictures": [_data_uri(root, found[path], QUERY_SIDE) for path in query_paths],
        "pictures": [_data_uri(root, found[path], CANDIDATE_SIDE) for path in pictures],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).translate(UNSAFE)
    template = files("lookalike.studies.human").joinpath("page.html").read_text(encoding="utf-8")
    parts = [part.replace("@@TITLE@@", html.escape(title)) for part in template.split("@@CONTENT@@")]
    with replacing(output) as part:
        part.write_text(text.join(parts), encoding="utf-8", errors="backslashreplace")


def _data_uri(root: Path, path: str, size: int) -> str:
    """Return an image, upright and small, as a JPEG data URI without any metadata."""
    stream = io.BytesIO()
    try:
        Image.fromarray(thumbnail_of(root / path, size)).save(stream, "JPEG", quality=85, optimize=True)
    except LookalikeError as error:
        raise LookalikeError(f"the image {path} of the plan cannot be shown: {error}; mend it in {root}") from error
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
