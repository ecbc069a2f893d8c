"""A rating page of pictures drawn here, and a tab of the browser that is watched."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from PIL import Image

from lookalike.studies.human.page import write_page
from lookalike.studies.human.questionnaire import draw_plan

if TYPE_CHECKING:
    from playwright.sync_api import Page

TITLE = "Boats & <trees>"


class RatingPage(NamedTuple):
    """A written page with its plan."""

    plan: pd.DataFrame
    file: Path


def make_page(folder: Path, seed: int = 0, n_queries: int = 3) -> RatingPage:
    """A plan of 3 queries with 4 + 4 candidates from three classes of coloured noise."""
    labels = np.repeat(["boat", "tree", "house"], 8)
    paths = [f"{label}/{label}_{number:04d}.png" for number, label in enumerate(labels)]
    rng = np.random.default_rng(1)
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)).save(folder / path)
    ids = np.arange(len(paths)) + 7000
    queries = ids[:12]
    neighbours = np.array([rng.permutation(ids[ids != query])[:4] for query in queries])
    plan = draw_plan(
        dict(zip(queries.tolist(), neighbours.tolist(), strict=True)), dict(zip(ids.tolist(), paths, strict=True)),
        {image: ids[labels == label].tolist() for image, label in zip(ids.tolist(), labels, strict=True)},
        relevance={image: -image for image in ids.tolist()}, seed=seed, n_queries=n_queries, n_retrieved=4, n_random=4,
    )  # fmt: skip
    write_page(plan, folder, folder / f"page-{seed}.html", title=TITLE)
    return RatingPage(plan, folder / f"page-{seed}.html")


class Watched(NamedTuple):
    """A tab with everything it asked of the network and everything it complained about."""

    page: Page
    requests: list[str]
    complaints: list[str]


def watch(page: Page) -> Watched:
    """Collect requests that are not of the page's own files, errors and console messages."""
    seen = Watched(page, [], [])
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
    return seen
