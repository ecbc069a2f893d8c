"""Queries with their nearest images before and after learning, for the gallery of the report (JMLR Tables 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.model import Entry, Found, Gallery, Ranking
from lookalike.exhibits.neighbours import Candidate, change_text, choice_note, choose, gallery_of, score_text
from lookalike.exhibits.registry import exhibit

if TYPE_CHECKING:
    from lookalike.ranking.rankings import Rankings
    from lookalike.studies.category.study import CategoryStudy

BEFORE, AFTER = "euclidean", "oasis"
N_QUERIES, N_FOUND = 24, 10
"""Queries, and images of each ranking."""
OWN = "images of its class"


@exhibit("learning/neighbours", title="Neighbours before and after learning", needs=("ranks", "images", "manifest"),
         when=lambda settings: {BEFORE, AFTER} <= set(settings["methods"]))  # fmt: skip
def neighbours(study: CategoryStudy) -> Gallery:
    """Nearest images of some test images, by Euclidean distance of their visterms and by OASIS."""
    material = Material(study)
    before, after = material.precision
    ids = material.rankings[1].query_ids.tolist()
    if material.rankings[0].query_ids.tolist() != ids or not ids:
        return gallery_of([], (f"Not drawn: {study.title_of(AFTER)} has no result here.",))
    rows = sorted(range(len(ids)), key=ids.__getitem__)
    candidates = [Candidate(row, material.label[ids[row]], float(after[row] - before[row])) for row in rows]
    seed = int(study.settings["seed"])
    choices = choose(candidates, N_QUERIES, seed=seed, dataset=study.dataset)
    entries = [material.entry(choice.key, choice.chosen) for choice in choices]
    shown = study.settings["neighbours"]
    return gallery_of(
        sorted(entries, key=lambda entry: entry.words),
        (
            f"Subset {shown['subset']}, partition {shown['fold'] + 1}: each of its {len(ids):,} test images queries "
            "all others, and none of them was learned from.",
            choice_note(candidates, choices, seed=seed, groups="classes", measure="average precision"),
            "Score: what the method ranks by, larger is more alike (of a distance, its negative square); scores of the "
            "two methods have no common scale.",
        ),
    )


class Material:
    """The two rankings that are shown, and the images behind them."""

    def __init__(self, study: CategoryStudy) -> None:
        from lookalike.core.files import read_json
        from lookalike.ranking.rankings import Rankings

        self.study = study
        self.rankings: Sequence[Rankings] = [Rankings.load(path) for path in study.files["ranks"]]
        manifest = study.table("manifest")
        self.label: dict[int, str] = dict(zip(manifest["image_id"], manifest["label"], strict=True))
        root = Path(read_json(study.path("images"))["root"])
        self.file = {id: str(root / path) for id, path in zip(manifest["image_id"], manifest["path"], strict=True)}

    @cached_property
    def precision(self) -> list[Any]:
        """Average precision of each query, before and after."""
        return [ranking.average_precision() for ranking in self.rankings]

    def entry(self, row: int, chosen: str) -> Entry:
        """The query in a row of both rankings."""
        from lookalike.exhibits.image_grid import class_name

        image = int(self.rankings[0].query_ids[row])
        label, found = self.label[image], [self._found(place, row) for place in (0, 1)]
        before, after = ([self.label[id] == label for id, _ in images] for images in found)
        rankings = tuple(self._ranking(place, row, images, label) for place, images in enumerate(found))
        change = change_text(sum(after) - sum(before), OWN)
        return Entry(self.file[image], class_name(label), rankings, chosen, change)

    def _found(self, place: int, row: int) -> list[tuple[int, float]]:
        """Ids and scores of the nearest images of a query."""
        ranking = self.rankings[place]
        if ranking.neighbours is None or ranking.neighbour_scores is None:
            raise LookalikeError(f"these rankings have no neighbours: rank again with n_neighbours of {N_FOUND}")
        ids = ranking.query_ids[ranking.neighbours[row, :N_FOUND]].tolist()
        return list(zip(ids, ranking.neighbour_scores[row, :N_FOUND].tolist(), strict=True))

    def _ranking(self, place: int, row: int, images: Sequence[tuple[int, float]], own: str) -> Ranking:
        from lookalike.exhibits.image_grid import RIGHT, WRONG, class_name

        marks = {True: replace(RIGHT, meaning="same class"), False: replace(WRONG, meaning="other class")}
        right = [self.label[id] == own for id, _ in images]
        found = tuple(
            Found(self.file[id], class_name(self.label[id]), marks[is_right], score_text(score))
            for (id, score), is_right in zip(images, right, strict=True)
        )
        share = f"{sum(right)} of {len(right)} of its class ({100 * sum(right) / max(1, len(right)):.0f} %)"
        precision = self.precision[place][row]
        summary = share if precision != precision else f"{share}; average precision {100 * precision:.1f} %"
        method = self.study.title_of((BEFORE, AFTER)[place])
        return Ranking(f"{('Before', 'After')[place]} learning: {method}", found, summary)
