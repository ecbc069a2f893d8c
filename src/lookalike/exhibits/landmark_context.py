"""What an exhibit of the landmark study has to know besides numbers (SOML, AAAI 2014).

The counterpart of `lookalike.exhibits.context`: its blocks are codebooks and landmarks where that of the category study
has subsets of classes, and a number that is held against print is one of a whole study that keeps to the paper's
settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.style import title_of

if TYPE_CHECKING:
    import pandas as pd

PAPER = "soml-aaai-2014"
LANDMARKS = ("all_souls", "ashmolean", "bodleian", "christ_church", "hertford", "magdalen", "radcliffe_camera")
"""Landmarks that the paper's tables have rows of."""
PRINTED_CODEBOOKS = {10_000: "10k", 100_000: "100k", 1_000_000: "1m"}
"""Words to how the printed numbers' settings name the codebook: Tables 1, 4, 7, then 2, 5, 8, then 3, 6, 9."""
PAPER_LEARNING = {"positives": 7, "negatives": 500}
"""Images of a landmark, and of others, that a metric is learned from (Experimental Testbed and Setup)."""
TABLE_METHODS = ("tfidf", "qpao", "oasis-diagonal", "soml-tg", "soml-da")
"""Methods that the paper's tables have columns of, in their order."""
PRINTED_METHOD = {"oasis-diagonal": "oasis"}
"""Our id of a method to the paper's, where they differ."""
RECONSTRUCTED = "qpao"
KINDS_MADE_BY_CODE = ("synthetic_landmarks",)


@dataclass(frozen=True)
class Codebook:
    """One representation of the study."""

    id: str
    title: str
    """How captions name its size (``10,000``)."""
    n_words: int
    place: int
    """Its place in the study, from 0, which says which of the paper's tables has its form."""
    why_not_comparable: str = ""
    """Why its numbers may not be held against the printed ones; "" where they may."""

    @property
    def setting(self) -> str:
        """Printed name of the codebook that the paper has at this place."""
        return list(PRINTED_CODEBOOKS.values())[self.place]


@dataclass(frozen=True)
class LandmarkContext:
    """Which data the exhibits of a landmark study show."""

    dataset: str
    title: str
    kind: str
    """``oxford5k``, ``landmarks`` (a user's own) or ``synthetic_landmarks``."""
    codebooks: tuple[Codebook, ...]
    landmarks: Mapping[str, str]
    """Id to title, in the order of rows."""
    methods: tuple[str, ...]
    """Methods that are compared, in order."""
    n_draws: int
    n_positives: int
    n_negatives: int
    variants: tuple[str, ...] = ()
    """SOML as it is printed, which has exhibits of its own."""
    not_run: str | None = None
    """What to do to run it (``put oxbuild_images-v1.tgz at data/oxford5k``), or None where it was run."""
    not_converged: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    """(representation, landmark, method) to why it has no result, where a fit did not end within its time limit."""
    stopped_at_limit: Mapping[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)
    """(representation, landmark, method) to the number of draws whose learner stopped at its limit of sweeps."""
    processors: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    """Method to what the study's settings want captions to say of it."""
    method_titles: Mapping[str, str] = field(default_factory=dict)
    regularization: Mapping[str, float] = field(default_factory=dict)
    """Method to the lambda that the study uses."""
    seed: int = 0
    """Root seed of the bootstrap that decides claims."""

    @property
    def synthetic(self) -> bool:
        """Whether the images are made by code; captions say so."""
        return self.kind in KINDS_MADE_BY_CODE

    @property
    def shows_printed(self) -> bool:
        """Whether the paper's numbers stand beside ours: they are of these landmarks and of no others."""
        return self.kind == "oxford5k"

    @property
    def not_run_sentence(self) -> str | None:
        """``not run: put X at Y``, or None where it was run."""
        if self.not_run is None:
            return None
        return "not run: " + self.not_run.removeprefix("not run:").strip()

    @property
    def images(self) -> str:
        """How captions begin to speak of the data."""
        return f"{'Synthetic images' if self.synthetic else 'Images'} of {self.title}"

    def title_of(self, method: str) -> str:
        """Return the printed name of a method of ours."""
        return title_of(method, self.method_titles)

    def stopped_sentence(self, codebooks: Sequence[Codebook], methods: Sequence[str]) -> str:
        """In how many fits a learner stopped at its limit of iterations, and not by its own rule; "" where none did.

        Examples
        --------
        ``Stopped at the limit of iterations: QPAO (reconstructed) in 3 of 35 fits (10,000 words).``
        """
        told = []
        for method in methods:
            for codebook in codebooks:
                keys = ((codebook.id, landmark, method) for landmark in self.landmarks)
                counts = [self.stopped_at_limit[key] for key in keys if key in self.stopped_at_limit]
                n, n_fits = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
                if n:
                    told.append(f"{self.title_of(method)} in {n} of {n_fits} fits ({codebook.title} words)")
        if not told or self.not_run is not None:
            return ""
        return f"Stopped at the limit of iterations: {'; '.join(told)}."

    def own(self, table: pd.DataFrame | None) -> pd.DataFrame | None:
        """Rows of a table that belong to this data set and its codebooks, with the columns ``landmark`` and ``draw``.

        None when there are none, or nothing was run.
        """
        if table is None or self.not_run is not None:
            return None
        table = table.rename(columns=_renamed(table))
        if "dataset" in table.columns:
            table = table[table["dataset"] == self.dataset]
        table = table[table["representation"].isin([codebook.id for codebook in self.codebooks])]
        return None if table.empty else table


def landmark_context(study: Mapping[str, Any], fits: pd.DataFrame | None) -> LandmarkContext:
    """Return the context of the exhibits of one landmark study.

    Parameters
    ----------
    study : mapping
        ``dataset``, ``title``, ``kind``, ``not_run`` ("" where it can be run), ``representations``: one to three ids to
        ``words`` and, optionally, ``title`` and ``not_comparable`` (a reason why its numbers may not be held against
        the printed ones), ``landmarks`` (ids, or id to title), ``methods`` (id to title) of those compared, ``draws``,
        ``positives`` and ``negatives``. ``variants`` (id to title), ``notes`` (id to a sentence) and ``regularization``
        (id to the lambda that is used) are empty and ``seed`` is 0 if left out.
    fits : DataFrame or None
        What each fit recorded (timing.parquet): ``representation``, ``subset`` (the landmark), ``method``, ``fold``
        (the draw), ``not_converged`` ("" or a reason), ``converged`` (False where the learner stopped at its limit
        of iterations) and ``processor``. None where nothing was run.

    Returns
    -------
    LandmarkContext
        QPAO, whose own paper is not at hand, has a title that says so. Without landmarks in `study` they are those of
        the fits, by name.
    """
    landmarks = _landmarks(study.get("landmarks") or (), fits)
    methods, variants = dict(study["methods"]), dict(study.get("variants", {}))
    titles = {method: _marked(method, title) for method, title in {**methods, **variants}.items()}
    titles.setdefault(RECONSTRUCTED, _marked(RECONSTRUCTED, title_of(RECONSTRUCTED)))
    codebooks = []
    for place, (representation, settings) in enumerate(study["representations"].items()):
        words = int(settings["words"])
        codebooks.append(
            Codebook(
                id=representation,
                title=settings.get("title") or f"{words:,}",
                n_words=words,
                place=place,
                why_not_comparable=why_not_comparable(study, settings, place, landmarks),
            )
        )
    return LandmarkContext(
        dataset=study["dataset"],
        title=study["title"],
        kind=study["kind"],
        codebooks=tuple(codebooks),
        landmarks=landmarks,
        methods=tuple(methods),
        n_draws=int(study["draws"]),
        n_positives=int(study["positives"]),
        n_negatives=int(study["negatives"]),
        variants=tuple(variants),
        not_run=study["not_run"] or None,
        not_converged=_not_converged(fits),
        stopped_at_limit=_stopped_at_limit(fits),
        processors=() if fits is None or "processor" not in fits else tuple(sorted(set(fits["processor"].dropna()))),
        notes=dict(study.get("notes", {})),
        method_titles=titles,
        regularization=dict(study.get("regularization", {})),
        seed=int(study.get("seed", 0)),
    )


def why_not_comparable(
    study: Mapping[str, Any], settings: Mapping[str, Any], place: int, landmarks: Mapping[str, str]
) -> str:
    """Return the first reason why a codebook's numbers may not be held against the printed ones; "" if there is none.

    Parameters
    ----------
    study : mapping
        As for `landmark_context`.
    settings : mapping
        One of its representations.
    place : int
        Its place in the study, from 0.
    landmarks : mapping of str to str
        Those of the study.
    """
    if study["kind"] in KINDS_MADE_BY_CODE:
        return "synthetic images"
    if study["kind"] != "oxford5k":
        return "not the paper's images"
    if sorted(landmarks) != sorted(LANDMARKS):
        return "other landmarks than the paper's"
    other = [
        f"{study[name]} {name}, the paper {number}" for name, number in PAPER_LEARNING.items() if study[name] != number
    ]
    if other:
        return f"other images to learn from than the paper's ({'; '.join(other)})"
    words, printed = int(settings["words"]), list(PRINTED_CODEBOOKS)[place]
    if words != printed:
        return f"a codebook of {words:,} words, the paper {printed:,}"
    return str(settings.get("not_comparable") or "")


def landmark_title(landmark: str) -> str:
    """Return ``All Souls`` of ``all_souls``."""
    return " ".join(word.capitalize() for word in landmark.replace("_", " ").split())


def _landmarks(listed: Any, fits: pd.DataFrame | None) -> dict[str, str]:
    if isinstance(listed, Mapping):
        return {str(landmark): str(title) for landmark, title in listed.items()}
    names = list(listed)
    if not names and fits is not None:
        column = "landmark" if "landmark" in fits else "subset"
        names = sorted(set(fits[column]))
    return {str(landmark): landmark_title(str(landmark)) for landmark in names}


def _marked(method: str, title: str) -> str:
    if method != RECONSTRUCTED or "reconstructed" in title:
        return title
    return f"{title} (reconstructed)"


def _renamed(table: pd.DataFrame) -> dict[str, str]:
    """``subset`` and ``fold``, as tables of runs call them, where there are no better names."""
    return {
        old: new for old, new in {"subset": "landmark", "fold": "draw"}.items() if new not in table and old in table
    }


def _not_converged(fits: pd.DataFrame | None) -> dict[tuple[str, str, str], str]:
    """(representation, landmark, method) to the reason of its first draw without a result, and in how many it is so."""
    if fits is None or "not_converged" not in fits:
        return {}
    table = fits.rename(columns=_renamed(fits))
    reasons = {}
    for key, rows in table.groupby(["representation", "landmark", "method"], sort=False):
        failed = rows.loc[rows["not_converged"].fillna("") != "", "not_converged"]
        if len(failed):
            representation, landmark, method = map(str, key)
            of_draws = f" ({len(failed)} of {len(rows)} draws)" if len(rows) > 1 else ""
            reasons[representation, landmark, method] = f"{failed.iloc[0]}{of_draws}"
    return reasons


def _stopped_at_limit(fits: pd.DataFrame | None) -> dict[tuple[str, str, str], tuple[int, int]]:
    """(representation, landmark, method) to the draws whose learner did not end by its own rule, and to all of them."""
    if fits is None or "converged" not in fits:
        return {}
    table = fits.rename(columns=_renamed(fits))
    # neither None nor NaN, of learners that have no such rule, is False
    table = table.assign(stopped=table["converged"].eq(False), told=table["converged"].notna())
    counts = {}
    for key, rows in table.groupby(["representation", "landmark", "method"], sort=False):
        if rows["told"].any():
            representation, landmark, method = map(str, key)
            counts[representation, landmark, method] = (int(rows["stopped"].sum()), len(rows))
    return counts
