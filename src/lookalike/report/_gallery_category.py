"""The gallery of a data set of the category study: neighbours by Euclidean distance and by OASIS (JMLR Tables 2 and 3).

The run is the one that the study's own galleries show, so that the page and the papers' tables agree; where they were
not drawn, it is the subset with the most classes of the representation that most subsets have, and the first fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lookalike.exhibits.image_grid import class_name
from lookalike.exhibits.style import title_of
from lookalike.ranking.rankings import Rankings
from lookalike.report._gallery_files import Pictures, StudyFolder
from lookalike.report._gallery_model import (
    Candidate,
    DatasetGallery,
    Found,
    GallerySettings,
    Kind,
    Query,
    Side,
    change_of_right,
    choose,
    told_choice,
    told_score,
)

BEFORE, AFTER = "euclidean", "oasis"
SAME, OTHER = Kind("same", "✓", "same class"), Kind("other", "✗", "other class")


class _Run(NamedTuple):
    """Where a pair of rankings lies, and the rankings."""

    representation: str
    subset: str
    after: str
    """The method after learning."""
    fold: int
    rankings: dict[str, Rankings]
    """``before`` and ``after``; both of the same queries, in the same order."""


def category_gallery(study: StudyFolder, settings: GallerySettings, *, seed: int) -> DatasetGallery | str:
    """Return the gallery of one data set of the category study, or the sentence that says why there is none.

    Parameters
    ----------
    study : StudyFolder
    settings : GallerySettings
    seed : int
        Root seed.
    """
    run = next(_runs(study), None)
    if run is None:
        return f"{study.title}: no fold has rankings by both {title_of(BEFORE)} and a learned metric."
    root = study.root()
    if root is None:
        return study.why_without_images()
    pictures = Pictures(study, root, settings)
    precisions = {name: rankings.average_precision() for name, rankings in run.rankings.items()}
    gains = precisions["after"] - precisions["before"]
    ids = run.rankings["after"].query_ids
    order = np.argsort(ids, kind="stable")
    candidates = [Candidate(int(row), study.labels[int(ids[row])], float(gains[row])) for row in order]
    choices = choose(candidates, settings.n_category, seed=seed, dataset=study.dataset)
    queries = []
    for row, chosen_as in choices:
        image_id = int(ids[row])
        picture = pictures.of(image_id)
        if picture is None:
            continue
        before, after = (
            _side(study, pictures, run.rankings[name], row, settings.n_shown, method, precisions[name][row])
            for name, method in (("before", BEFORE), ("after", run.after))
        )
        label = class_name(study.labels[image_id])
        key = f"query-{study.dataset}-{image_id}"
        queries.append(Query(key, label, chosen_as, picture, before, after, change_of_right(before, after)))
    if not queries:
        return study.why_without_images()
    titles = title_of(BEFORE), title_of(run.after)
    n_classes = len({study.labels[int(image)] for image in ids})
    return DatasetGallery(
        dataset=study.dataset,
        title=study.title,
        synthetic=study.synthetic,
        about=(
            f"{study.images}: before learning, neighbours by {titles[0]} distance between the images' visual words; "
            f"after learning, by {titles[1]}. Representation {run.representation}, subset {run.subset} "
            f"({n_classes} classes), partition {run.fold + 1}: each of its {len(ids):,} test images queries all "
            "others, and none of them was learned from."
        ),
        how=told_choice(candidates, choices, seed=seed, group_plural="classes", measure="average precision"),
        scores=(
            "Score: what the method ranks by, larger is more alike (of a distance, its negative square); scores of "
            "the two methods have no common scale."
        ),
        group_word="class",
        measure="average precision",
        change_word="images of its class",
        change_note="images of its class are shown",
        kinds=(SAME, OTHER),
        queries=tuple(sorted(queries, key=lambda query: query.label)),
    )


def _side(
    study: StudyFolder, pictures: Pictures, rankings: Rankings, row: int, n_shown: int, method: str, precision: float
) -> Side:
    """What one method found for the query in a row of its rankings."""
    assert rankings.neighbours is not None
    assert rankings.neighbour_scores is not None
    own = study.labels[int(rankings.query_ids[row])]
    found = []
    ids, scores = rankings.query_ids[rankings.neighbours[row, :n_shown]], rankings.neighbour_scores[row, :n_shown]
    for rank, (image, score) in enumerate(zip(ids.tolist(), scores.tolist(), strict=True), start=1):
        label = study.labels[image]
        kind = SAME if label == own else OTHER
        found.append(Found(rank, class_name(label), kind, told_score(score), pictures.of(image)))
    return Side(
        method=title_of(method),
        found=tuple(found),
        n_right=sum(one.kind is SAME for one in found),
        n_counted=len(found),
        measure="" if np.isnan(precision) else f"average precision {100 * precision:.1f} %",
    )


def _runs(study: StudyFolder) -> Iterator[_Run]:
    """Pairs of rankings, the one to be shown first."""
    for folder in _shown_by_exhibits(study):
        yield from _pair(study, folder)
    folders = [path.parent for path in study.folder.glob("runs/*/*/*/*/ranks.npz") if path.parts[-3] != BEFORE]
    # OASIS before others, then as the module says
    n_subsets = {name: len({path.parts[-3] for path in folders if path.parts[-4] == name}) for name in _names(folders)}
    pairs = [pair for folder in folders if (folder.name == _first_fold(folder)) for pair in _pair(study, folder)]
    pairs.sort(
        key=lambda run: (
            run.after != AFTER,
            -n_subsets[run.representation],
            run.representation,
            -len({study.labels[int(image)] for image in run.rankings["after"].query_ids}),
            run.subset,
            run.after,
        )
    )
    yield from pairs


def _names(folders: list[Path]) -> set[str]:
    return {folder.parts[-4] for folder in folders}


def _first_fold(folder: Path) -> str:
    return min((path.parent.name for path in folder.parent.glob("*/ranks.npz")), key=int)


def _shown_by_exhibits(study: StudyFolder) -> Iterator[Path]:
    """Folders of the runs that the study's galleries were drawn from."""
    for sidecar in study.sidecars:
        if sidecar.get("kind") == "gallery":
            for source in map(Path, sidecar.get("sources", ())):
                if source.name == "ranks.npz" and len(source.parts) > 6:
                    yield study.folder.joinpath(*source.parts[-6:-1])


def _pair(study: StudyFolder, folder: Path) -> Iterator[_Run]:
    """The rankings of a run and those before learning, where both exist and have something to show."""
    representation, subset, after, fold = folder.parts[-4:]
    files = {"before": folder.parents[1] / BEFORE / fold / "ranks.npz", "after": folder / "ranks.npz"}
    if not all(file.is_file() for file in files.values()):
        return
    rankings = {name: Rankings.load(file) for name, file in files.items()}
    shown = all(one.n_queries and one.neighbours is not None for one in rankings.values())
    if shown and np.array_equal(rankings["before"].query_ids, rankings["after"].query_ids):
        yield _Run(representation, subset, after, int(fold), rankings)
