"""The gallery of a data set of the landmark study: the first images by TF-IDF and by a learned metric (SOML).

The two methods and the codebook are those of the study's montage: no method is chosen by how well it does here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.files import read_table
from lookalike.exhibits.style import title_of
from lookalike.report._gallery_files import Pictures, StudyFolder, json_object
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
from lookalike.studies.landmark.montage import compared as montage_methods
from lookalike.studies.landmark.rankings import RELEVANCE, LandmarkRankings
from lookalike.studies.landmark.study import landmark_title

SAME, OTHER = Kind("same", "✓", "this landmark"), Kind("other", "✗", "something else")
JUNK = Kind("junk", "–", "junk, not counted")


class _Asked(NamedTuple):
    """A query of one draw: its row in the rankings before and after learning, and their average precision."""

    name: str
    landmark: str
    image_id: int
    rankings: Mapping[str, LandmarkRankings]
    rows: Mapping[str, int]
    precision: Mapping[str, float]


def landmark_gallery(study: StudyFolder, settings: GallerySettings, *, seed: int) -> DatasetGallery | str:
    """Return the gallery of one data set of the landmark study, or the sentence that says why there is none.

    Parameters
    ----------
    study : StudyFolder
    settings : GallerySettings
    seed : int
        Root seed.
    """
    representation, methods = _shown_by_montage(study)
    if methods is None:
        return f"{study.title}: no draw has rankings by both {title_of('tfidf')} and a learned metric."
    draw, asked = _asked(study, representation, methods)
    if not asked:
        return f"{study.title}: no draw has rankings by both {' and '.join(map(title_of, methods))}."
    root = study.root()
    if root is None:
        return study.why_without_images()
    pictures = Pictures(study, root, settings)
    boxes = _boxes(study)
    candidates = [
        Candidate(place, one.landmark, one.precision["after"] - one.precision["before"])
        for place, one in enumerate(asked)
    ]
    choices = choose(candidates, settings.n_landmark, seed=seed, dataset=study.dataset)
    queries = []
    for place, chosen_as in choices:
        one = asked[place]
        picture = pictures.of(one.image_id)
        if picture is None:
            continue
        before, after = (
            _side(one, name, method, pictures, settings.n_shown)
            for name, method in zip(("before", "after"), methods, strict=True)
        )
        box = pictures.box(one.image_id, boxes[one.name]) if one.name in boxes else None
        key = f"query-{study.dataset}-{one.image_id}-{one.name}"
        label = landmark_title(one.landmark)
        change = change_of_right(before, after)
        queries.append(Query(key, label, chosen_as, picture, before, after, change, box))
    if not queries:
        return study.why_without_images()
    return DatasetGallery(
        dataset=study.dataset,
        title=study.title,
        synthetic=study.synthetic,
        about=(
            f"{study.images}: before learning, by {title_of(methods[0])}; after learning, by {title_of(methods[1])}, "
            f"learned for each landmark anew. Codebook {representation}, draw {draw + 1} of the images to learn from, "
            "which are not in the rankings; a query asks with its rectangle. Its own image, which is in the rankings, "
            "is not shown, and numbers count the others from 1."
        ),
        how=told_choice(candidates, choices, seed=seed, group_plural="landmarks", measure="average precision"),
        scores=(
            "Score: what the method ranks by, larger is more alike; scores of the two methods have no common scale. "
            "Good, ok and junk are the ground truth's words for how much of the landmark an image shows."
        ),
        group_word="landmark",
        measure="average precision",
        change_word="images of its landmark",
        change_note="images of its landmark are shown",
        kinds=(SAME, JUNK, OTHER),
        queries=tuple(sorted(queries, key=lambda query: query.label)),
    )


def _shown_by_montage(study: StudyFolder) -> tuple[str, tuple[str, str] | None]:
    """The codebook and the two methods of the study's montage, or those that it would show."""
    sources: list[str] = []
    for sidecar in study.sidecars:
        if sidecar.get("drawn_by") == "lookalike.exhibits.landmark_montage":
            sources = [str(source) for source in sidecar.get("sources", ())]
    runs = [Path(source).parts[-5:-1] for source in sources if source.endswith("/ranks.npz")]
    if not runs or not any(study.folder.glob(f"runs/{runs[0][0]}/*/*/*/ranks.npz")):
        runs = [path.parts[-5:-1] for path in study.folder.glob("runs/*/*/*/*/ranks.npz")]
    if not runs:
        return "", None
    # the largest codebook comes last in a study, and has the longest vectors: its runs are not told apart otherwise
    representation = max((run[0] for run in runs), key=lambda name: (_n_words(study, name), name))
    return representation, montage_methods(sorted({run[2] for run in runs if run[0] == representation}))


def _n_words(study: StudyFolder, representation: str) -> int:
    files = study.folder.glob(f"runs/{representation}/*/tfidf/*/fit.json")
    return int(json_object(next(files, Path())).get("n_words") or 0)


def _asked(study: StudyFolder, representation: str, methods: tuple[str, str]) -> tuple[int, list[_Asked]]:
    """The first draw that has rankings, and its queries by name."""
    runs = study.folder / "runs" / representation
    draws = sorted({int(path.parent.name) for path in runs.glob(f"*/{methods[1]}/*/ranks.npz")})
    for draw in draws:
        asked: list[_Asked] = []
        for landmark in sorted(path.name for path in runs.iterdir() if path.is_dir()):
            files = [runs / landmark / method / str(draw) / "ranks.npz" for method in methods]
            if all(file.is_file() for file in files):
                before, after = map(LandmarkRankings.load, files)
                asked += _of_landmark(landmark, {"before": before, "after": after})
        if asked:
            return draw, asked
    return 0, []


def _of_landmark(landmark: str, rankings: Mapping[str, LandmarkRankings]) -> list[_Asked]:
    rows = {name: {str(query): row for row, query in enumerate(one.queries)} for name, one in rankings.items()}
    precision = {name: one.average_precision() for name, one in rankings.items()}
    return [
        _Asked(
            query,
            landmark,
            int(rankings["before"].query_ids[row]),
            rankings,
            {name: rows[name][query] for name in rankings},
            {name: float(precision[name][rows[name][query]]) for name in rankings},
        )
        for query, row in rows["before"].items()
        if query in rows["after"]
    ]


def _side(one: _Asked, name: str, method: str, pictures: Pictures, n_shown: int) -> Side:
    """What one method found for a query, its own image left out."""
    rankings, row, precision = one.rankings[name], one.rows[name], one.precision[name]
    truth = slice(int(rankings.offsets[row]), int(rankings.offsets[row + 1]))
    known = dict(zip(rankings.image_ids[truth].tolist(), rankings.relevance[truth].tolist(), strict=True))
    pairs: list[tuple[Any, Any]] = list(zip(rankings.top[row].tolist(), rankings.top_scores[row].tolist(), strict=True))
    others = [(int(image), float(score)) for image, score in pairs if image != one.image_id][:n_shown]
    found = []
    for rank, (image, score) in enumerate(others, start=1):
        what = RELEVANCE[known[image]] if image in known else ""
        kind = {"good": SAME, "ok": SAME, "junk": JUNK}.get(what, OTHER)
        # what other images show, the ground truth does not say
        label = f"{landmark_title(one.landmark)}, {what}" if what else ""
        found.append(Found(rank, label, kind, told_score(score), pictures.of(image)))
    return Side(
        method=title_of(method),
        found=tuple(found),
        n_right=sum(item.kind is SAME for item in found),
        n_counted=sum(item.kind is not JUNK for item in found),
        measure="" if np.isnan(precision) else f"average precision {100 * precision:.1f} %",
    )


def _boxes(study: StudyFolder) -> dict[str, tuple[float, float, float, float]]:
    """Query to its rectangle in pixels of the image: left, top, right, bottom."""
    file = study.folder / "queries.parquet"
    if not file.is_file():
        return {}
    columns = read_table(file)[["query", "x_min", "y_min", "x_max", "y_max"]].itertuples(index=False, name=None)
    return {str(name): (left, top, right, bottom) for name, left, top, right, bottom in columns}
