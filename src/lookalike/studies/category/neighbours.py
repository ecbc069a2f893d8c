"""Queries with their nearest images before and after learning, for the gallery of the report (JMLR Tables 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lookalike.core.arrays import Reals
from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name
from lookalike.exhibits.model import Entry, Found, Gallery, Ranking
from lookalike.exhibits.neighbours import (
    Candidate,
    ChosenQuery,
    change_text,
    choice_note,
    choose,
    gallery_of,
    score_text,
    share_text,
)
from lookalike.exhibits.registry import exhibit
from lookalike.ranking.rankings import Rankings
from lookalike.studies.category.section import AFTER, BEFORE
from lookalike.studies.category.study import CategoryStudy

N_QUERIES, N_FOUND = 24, 10
"""Queries, and images of each ranking."""
OWN = "images of its class"


@exhibit(
    "learning/neighbours",
    title="Neighbours before and after learning",
    needs=("ranks", "images", "manifest"),
    when=lambda study: {BEFORE, AFTER} <= set(study.methods),
)
def neighbours(study: CategoryStudy) -> Gallery:
    """Whether OASIS finds more images of the same class: neighbours of test images before and after learning."""
    before, after = (Rankings.load(path) for path in study.files["ranks"])
    ids = after.query_ids.tolist()
    if before.query_ids.tolist() != ids or not ids:
        return gallery_of([], (f"Not drawn: {study.title_of(AFTER)} has no result here.",))
    precisions = [before.average_precision(), after.average_precision()]
    labels = study.table("manifest").set_index("image_id")["label"]
    rows = sorted(range(len(ids)), key=ids.__getitem__)
    candidates = [Candidate(row, labels[ids[row]], float(precisions[1][row] - precisions[0][row])) for row in rows]
    choices = choose(candidates, N_QUERIES, seed=study.seed, dataset=study.dataset)
    entries = [_entry(study, (before, after), precisions, choice) for choice in choices]
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


def _entry(
    study: CategoryStudy, rankings: Sequence[Rankings], precisions: Sequence[Reals], choice: ChosenQuery
) -> Entry:
    """The query in a row of both rankings, with what each found."""
    row = choice.key
    manifest, root = study.table("manifest").set_index("image_id"), Path(read_json(study.path("images"))["root"])
    marks = {True: replace(RIGHT, meaning="same class"), False: replace(WRONG, meaning="other class")}
    query = rankings[0].query_ids[row]
    own, sides, n_right = manifest["label"][query], [], []
    for when, method, ranking, precision in zip(
        ("Before", "After"), (BEFORE, AFTER), rankings, precisions, strict=True
    ):
        if ranking.neighbours is None or ranking.neighbour_scores is None:
            raise LookalikeError(f"these rankings have no neighbours: rank again with n_neighbours of {N_FOUND}")
        images = manifest.loc[ranking.query_ids[ranking.neighbours[row, :N_FOUND]]]
        right = (images["label"] == own).tolist()
        scores = ranking.neighbour_scores[row, :N_FOUND].tolist()
        # Euclidean ranks by the negative square of its distance
        is_distance = method == BEFORE
        scores = [math.sqrt(max(0.0, -score)) for score in scores] if is_distance else scores
        found = tuple(
            Found(str(root / path), class_name(label), marks[is_right], score_text(score))
            for path, label, is_right, score in zip(images["path"], images["label"], right, scores, strict=True)
        )
        summary = share_text(sum(right), len(right), "class", float(precision[row]))
        title = f"{when} learning: {study.title_of(method)}"
        sides.append(Ranking(title, found, summary, "distance" if is_distance else "score"))
        n_right.append(sum(right))
    change = change_text(n_right[1] - n_right[0], OWN)
    return Entry(
        str(root / manifest["path"][query]), class_name(own), tuple(sides), choice.chosen, change, gain=choice.gain
    )
