"""Exhibits of the category study that are no table and no curve: neighbours for the report's gallery, JMLR Figure 2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lookalike.core.arrays import Reals
from lookalike.core.images import load_rgb
from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name
from lookalike.exhibits.model import Entry, Found, Gallery, Picture, Ranking
from lookalike.exhibits.neighbours import choice_note, choose, entry_of, gallery_of, score_text
from lookalike.features import pyramid
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.study import AFTER, BEFORE, CategoryStudy

N_QUERIES, N_FOUND = 24, 10
"""Queries, and images of each ranking."""


def neighbours(study: CategoryStudy) -> Gallery:
    """Draw neighbours of test images before and after learning."""
    before, after = (Rankings.load(path) for path in study.paths("ranks"))
    ids = after.query_ids.tolist()
    if before.query_ids.tolist() != ids or not ids:
        return gallery_of([], (f"Not drawn: {study.title_of(AFTER)} has no result here.",))
    precisions = [before.average_precision(), after.average_precision()]
    labels = study.table("manifest").set_index("image_id")["label"]
    rows = sorted(range(len(ids)), key=ids.__getitem__)
    gains = {"group": [labels[ids[row]] for row in rows], "gain": (precisions[1] - precisions[0])[rows]}
    candidates = pd.DataFrame(gains, index=rows)
    choices = choose(candidates, N_QUERIES, seed=study.seed, dataset=study.dataset)
    entries = [_entry(study, (before, after), precisions, choice) for choice in choices.itertuples()]
    id, fold = study.example_fold()
    title = next(subset.title for subset in study.all_subsets if subset.id == id)
    return gallery_of(
        sorted(entries, key=lambda entry: entry.words),
        (
            f"Queries are among the {len(ids):,} test images of {title}, partition {fold + 1}. Each queries "
            "all others, and none of them was learned from.",
            choice_note(candidates, choices, seed=study.seed, groups="classes", measure="average precision"),
            "Euclidean ranks by distance: smaller is nearer. OASIS ranks by score: larger is nearer. The two have no "
            "common scale.",
        ),
    )


def _entry(study: CategoryStudy, rankings: Sequence[Rankings], precisions: Sequence[Reals], choice: Any) -> Entry:
    """The query in a row of both rankings, with what each found."""
    manifest, root, sides = study.table("manifest").set_index("image_id"), study.images_root, list[Ranking]()
    path, own = manifest.loc[rankings[0].query_ids[choice.Index], ["path", "label"]]
    marks = {True: replace(RIGHT, meaning="same class"), False: replace(WRONG, meaning="other class")}
    for method, ranking in zip((BEFORE, AFTER), rankings, strict=True):
        ids, scores = ranking.nearest(choice.Index, N_FOUND)
        images, is_distance = manifest.loc[ids], method == BEFORE
        # Euclidean ranks by the negative square of its distance
        scores = [math.sqrt(max(0.0, -score)) for score in scores] if is_distance else scores
        found = tuple(
            Found(str(root / path), class_name(label), marks[label == own], score_text(score))
            for path, label, score in zip(images["path"], images["label"], scores, strict=True)
        )
        sides.append(Ranking(study.title_of(method), found, measure="distance" if is_distance else "score"))
    own_precisions = [float(precision[choice.Index]) for precision in precisions]
    return entry_of(root / path, class_name(own), sides, own_precisions, choice, "class")


def local_binary_pattern(study: CategoryStudy) -> Picture:
    """Draw how the local binary pattern LBP(8,2) of a pixel is read off its neighbours."""
    from lookalike.studies.category.lbp_example import picture_of

    return picture_of(load_rgb(example_path(study)))


def example_path(study: CategoryStudy) -> Path:
    """Return the path of the image of the codebook pool that is nearest to 400x300 in its number of blocks."""
    manifest = study.table("manifest")
    rows = manifest[manifest["image_id"].isin(study.table("pool")["image_id"])]
    n_blocks = np.array(list(map(pyramid.count_blocks, rows["width"], rows["height"])))
    nearest = int(np.argmin(np.abs(n_blocks - pyramid.count_blocks(400, 300))))
    return study.images_root / str(rows["path"].iloc[nearest])
