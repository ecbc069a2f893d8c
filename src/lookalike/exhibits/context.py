"""What an exhibit has to know besides numbers, put together from the configuration and from what the fits recorded.

`Context` says which data the numbers of an exhibit come from; each of its subsets says for itself whether its numbers
may be held against print, and if not, why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.style import title_of

if TYPE_CHECKING:
    import pandas as pd

PAPER_SPLITS = {"folds": 5, "train": 40, "test": 25, "validation": 8}
"""Partitions per subset and images per class of the papers (JMLR 5.3.2); 8 is the 20% that selection scores on."""
PAPER_WORDS = 1000
"""Visterms of the papers' comparisons (JMLR 5.3.2)."""


@dataclass(frozen=True)
class SubsetInfo:
    """One subset of classes, as exhibits name it."""

    id: str
    """Name in file names and tables (``var10``)."""
    title: str
    """Name in captions (``Var10``)."""
    n_classes: int
    """Classes that were really used; 0 where nothing was run and their number is not known."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """Paper id to the ``setting`` of its printed numbers (``{"oasis-jmlr-2010": "classes=10"}``)."""
    why_not_comparable: str = ""
    """Why its numbers may not be held against the printed ones (``synthetic images``); "" where they may."""

    @property
    def comparable(self) -> bool:
        """Whether its numbers may be held against the printed ones."""
        return not self.why_not_comparable


@dataclass(frozen=True)
class Context:
    """Which data an exhibit shows."""

    dataset: str
    title: str
    kind: str
    """Kind of the data set: ``caltech256``, ``folder`` or ``synthetic``."""
    subsets: tuple[SubsetInfo, ...]
    """The subsets to draw, in order: panels of a figure, blocks of a table."""
    methods: tuple[str, ...]
    """Methods that are compared, in order."""
    representation: str
    n_folds: int
    n_train: int
    """Training images per class."""
    n_test: int
    """Test images per class."""
    not_run: str | None = None
    """What to do to run it (``put 256_ObjectCategories.tar at data/caltech256``), or None where it was run."""
    variants: tuple[str, ...] = ()
    """Symmetric variants of OASIS that were run besides (JMLR Figure 8)."""
    timed: tuple[str, ...] = ()
    """Further methods that are run for their training times only (JMLR Table 5)."""
    projected: tuple[str, ...] = ()
    """Ways of projecting OASIS onto the positive semidefinite cone whose curves are traced (JMLR Figure 9)."""
    projection_intervals: Mapping[str, int | None] = field(default_factory=dict)
    """Way of projecting to the steps from one projection to the next; None where it projects only at the end."""
    not_converged: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(subset, method) to why it has no result, where a fit did not end within its time limit."""
    ended_after: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    """(subset, method) to the steps after which the final fit of each fold ended."""
    stopped_at_limit: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """(subset, method) to in how many folds, and of how many, its learner stopped at its limit of iterations."""
    processors: tuple[str, ...] = ()
    """Models of the processors that the study's fits ran on."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Method to what the study's settings want captions to say of it, such as a limit that the papers have not."""
    method_titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of methods that differ from `lookalike.exhibits.style.METHOD_TITLES`."""
    traced_aggressiveness: float = 0.1
    """The C whose learning curves are drawn (JMLR Figure 5 has 0.1)."""
    selected_steps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Subset to the step at which validation stops OASIS at the traced C, a number for each fold that has one."""
    traced_stop_at_last_step: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """Subset to whether each of these stops is the last traced step."""
    at_grid_edge: Mapping[tuple[str, str], tuple[bool, ...]] = field(default_factory=dict)
    """(subset, method) to whether each fold's selection chose an end of the method's grid."""
    at_last_step: Mapping[tuple[str, str], tuple[bool, ...]] = field(default_factory=dict)
    """(subset, method) to whether each fold's selection chose the last traced step."""

    @property
    def synthetic(self) -> bool:
        """Whether the images are made by code; captions say so."""
        return self.kind == "synthetic"

    @property
    def not_run_sentence(self) -> str | None:
        """``not run: put X at Y``, or None where it was run."""
        if self.not_run is None:
            return None
        return "not run: " + self.not_run.removeprefix("not run:").strip()

    @property
    def why_not_comparable(self) -> str:
        """The distinct reasons of its subsets, each with their titles unless it holds for all; "" where none has one.

        Examples
        --------
        ``248 of the paper's 249 classes (249 classes)``, ``synthetic images``
        """
        titles: dict[str, list[str]] = {}
        for subset in self.subsets:
            if not subset.comparable:
                titles.setdefault(subset.why_not_comparable, []).append(subset.title)
        return "; ".join(
            reason if len(of) == len(self.subsets) else f"{reason} ({', '.join(of)})" for reason, of in titles.items()
        )

    @property
    def selection_sentence(self) -> str:
        """`selection_of` the compared methods."""
        return self.selection_of(self.methods)

    def selection_of(self, methods: Sequence[str]) -> str:
        """In how many folds the selection of each method ended where its grid or the trace ends; "" where none did.

        Examples
        --------
        ``Selection ended at an end of what was tried: OASIS: in 2 of 10 folds the end of the grid, in 3 the last traced
        step; LEGO: in 1 of 10 folds the end of the grid.``
        """
        told = []
        for method in dict.fromkeys(methods):
            ends = ((self.at_grid_edge, "the end of the grid"), (self.at_last_step, "the last traced step"))
            folds = [(self._of_all_folds(flags, method), end) for flags, end in ends]
            parts = [(sum(of_all), len(of_all), end) for of_all, end in folds if any(of_all)]
            if parts:
                n, n_folds, end = parts[0]
                others = "".join(f", in {n} {end}" for n, _, end in parts[1:])
                title = title_of(method, self.method_titles)
                told.append(f"{title}: in {n} of {n_folds} folds {end}{others}")
        return f"Selection ended at an end of what was tried: {'; '.join(told)}." if told else ""

    def stopped_sentence(self, methods: Sequence[str]) -> str:
        """In how many folds learners stopped at their limit of iterations; "" where none did.

        Examples
        --------
        ``Stopped at the limit of iterations: LMNN in 5 of 5 folds (Var10), in 2 of 5 (Var20).``
        """
        told = []
        for method in dict.fromkeys(methods):
            counts = [(subset, self.stopped_at_limit.get((subset.id, method), (0, 0))) for subset in self.subsets]
            parts = [
                f"in {n} of {n_folds} {'folds ' if not place else ''}({subset.title})"
                for place, (subset, (n, n_folds)) in enumerate((of, count) for of, count in counts if count[0])
            ]
            if parts:
                told.append(f"{title_of(method, self.method_titles)} {', '.join(parts)}")
        if not told or self.not_run is not None:
            return ""
        return f"Stopped at the limit of iterations: {'; '.join(told)}."

    @property
    def traced_stop_sentence(self) -> str:
        """How many folds' validation stop at the traced C is the last traced step; "" where none is."""
        subsets = () if self.not_run is not None else self.subsets
        folds = [flag for subset in subsets for flag in self.traced_stop_at_last_step.get(subset.id, ())]
        if not any(folds):
            return ""
        stop = f"the validation stop at C = {self.traced_aggressiveness:g}"
        return f"In {sum(folds)} of {len(folds)} folds {stop} is the last traced step."

    def _of_all_folds(self, flags: Mapping[tuple[str, str], tuple[bool, ...]], method: str) -> list[bool]:
        """Flags of a method in all folds of the subsets drawn; none where nothing was run."""
        subsets = () if self.not_run is not None else self.subsets
        return [flag for subset in subsets for flag in flags.get((subset.id, method), ())]

    def own(self, table: pd.DataFrame | None) -> pd.DataFrame | None:
        """Rows of a metrics or curve table that belong here; None when there are none."""
        if table is None or self.not_run is not None:
            return None
        for column, value in (("dataset", self.dataset), ("representation", self.representation)):
            if column in table.columns:
                table = table[table[column] == value]
        return None if table.empty else table


def study_context(study: Mapping[str, Any], fits: pd.DataFrame | None) -> Context:
    """Return the context of one exhibit of the category study.

    Parameters
    ----------
    study : mapping
        ``dataset``, ``title``, ``kind``, ``not_run`` ("" where it can be run), ``representation``,
        ``representation_settings`` (``words``, ``hellinger``), ``splits`` (``folds``, ``train``, ``test``,
        ``validation``), ``methods`` (id to title) and ``subsets``: id to ``title``, ``printed`` settings, ``classes``
        ("published", a list or other words), ``n_classes`` asked for (0 where only a scan can tell) and
        ``published_classes`` (folders that the papers list under this id). ``variants``, ``timed`` and ``projected``
        (lists of ids), ``projection_intervals`` (id to steps, None for a projection at the end alone), ``titles`` (id
        to title, of all methods) and ``notes`` (id to a sentence) are empty and ``traced_aggressiveness`` is 0.1 if
        left out.
    fits : DataFrame or None
        What each fit recorded (timing.parquet): ``subset``, ``representation``, ``method``, ``fold``, ``n_classes``
        ``not_converged`` ("" or a reason), ``converged`` (False where the learner stopped at its limit of iterations),
        ``processor``, ``at_grid_edge``, ``at_last_step`` and, of OASIS, ``stop_at_traced_aggressiveness`` and
        ``traced_stop_at_last_step``. None where nothing was run.

    Returns
    -------
    Context
    """
    representation = study["representation"]
    subsets = []
    for subset, settings in study["subsets"].items():
        n_classes = _n_classes(subset, settings, fits)
        info = SubsetInfo(
            id=subset,
            title=settings.get("title", subset),
            n_classes=n_classes,
            printed=settings.get("printed", {}),
            why_not_comparable=why_not_comparable(study, settings, n_classes),
        )
        subsets.append(info)
    oasis = {subset.id: _oasis_fits(subset.id, representation, fits) for subset in subsets}
    return Context(
        dataset=study["dataset"],
        title=study["title"],
        kind=study["kind"],
        subsets=tuple(subsets),
        methods=tuple(study["methods"]),
        representation=representation,
        n_folds=study["splits"]["folds"],
        n_train=study["splits"]["train"],
        n_test=study["splits"]["test"],
        not_run=study["not_run"] or None,
        variants=tuple(study.get("variants", ())),
        timed=tuple(study.get("timed", ())),
        projected=tuple(study.get("projected", ())),
        projection_intervals=dict(study.get("projection_intervals", {})),
        not_converged=_not_converged(fits, representation),
        ended_after=_ended_after(fits, representation),
        stopped_at_limit=_stopped_at_limit(fits, representation),
        processors=() if fits is None or "processor" not in fits else tuple(sorted(set(fits["processor"]))),
        notes=dict(study.get("notes", {})),
        method_titles={**dict(study["methods"]), **study.get("titles", {})},
        traced_aggressiveness=study.get("traced_aggressiveness", 0.1),
        selected_steps={subset: _selected_steps(rows) for subset, rows in oasis.items()},
        traced_stop_at_last_step={
            subset: _flags(_with_stop(rows), "traced_stop_at_last_step") for subset, rows in oasis.items()
        },
        at_grid_edge=_flags_of_methods(fits, representation, "at_grid_edge"),
        at_last_step=_flags_of_methods(fits, representation, "at_last_step"),
    )


def why_not_comparable(study: Mapping[str, Any], settings: Mapping[str, Any], n_classes: int) -> str:
    """Return the first reason why a subset's numbers may not be held against the printed ones; "" if there is none.

    Parameters
    ----------
    study : mapping
        As for `study_context`.
    settings : mapping
        One of its subsets.
    n_classes : int
        Classes that were really used, or, before a run, asked for.
    """
    if study["kind"] == "synthetic":
        return "synthetic images"
    published, classes = list(settings.get("published_classes", ())), settings.get("classes")
    listed = published if classes == "published" else [] if isinstance(classes, str) else list(classes or ())
    if not published or sorted(listed) != sorted(published):
        return "other classes than the paper's"
    if study["kind"] != "caltech256":
        # folders of the same names; only the archive is known to hold the paper's images
        return "not known to be the paper's images"
    if n_classes != len(published):
        return f"{n_classes} of the paper's {len(published)} classes"
    other = [
        f"{name} {study['splits'].get(name)}, the paper {number}"
        for name, number in PAPER_SPLITS.items()
        if study["splits"].get(name) != number
    ]
    if other:
        return f"other splits than the paper's ({'; '.join(other)})"
    representation = study["representation_settings"]
    words, hellinger = representation["words"], bool(representation.get("hellinger"))
    if words != PAPER_WORDS or hellinger:
        return f"another representation ({words:,} words{', square roots' if hellinger else ''})"
    return ""


def _n_classes(subset: str, settings: Mapping[str, Any], fits: pd.DataFrame | None) -> int:
    """Classes that were really used (a class may have been dropped); before any run, those that were asked for."""
    if fits is not None:
        used = fits.loc[fits["subset"] == subset, "n_classes"]
        if len(used):
            return int(used.max())
    return int(settings.get("n_classes", 0))


def _not_converged(fits: pd.DataFrame | None, representation: str) -> dict[tuple[str, str], str]:
    """(subset, method) to the reason of its first fold that has no result, and in how many folds it is so."""
    if fits is None or "not_converged" not in fits:
        return {}
    own = fits[fits["representation"] == representation]
    reasons = {}
    for (subset, method), rows in own.groupby(["subset", "method"], sort=False):
        failed = rows.loc[rows["not_converged"].fillna("") != "", "not_converged"]
        if len(failed):
            reasons[str(subset), str(method)] = f"{failed.iloc[0]} ({len(failed)} of {len(rows)} folds)"
    return reasons


def _ended_after(fits: pd.DataFrame | None, representation: str) -> dict[tuple[str, str], tuple[int, ...]]:
    if fits is None or "n_steps" not in fits:
        return {}
    own = fits[(fits["representation"] == representation) & fits["n_steps"].notna()]
    groups = own.groupby(["subset", "method"], sort=False)["n_steps"]
    return {(str(subset), str(method)): tuple(map(int, steps)) for (subset, method), steps in groups}


def _stopped_at_limit(fits: pd.DataFrame | None, representation: str) -> dict[tuple[str, str], tuple[int, int]]:
    """(subset, method) to the number of folds whose learner did not end by its own rule, and of all folds."""
    stopped = _flags_of_methods(fits, representation, "converged", value=False)
    return {key: (sum(folds), len(folds)) for key, folds in stopped.items() if any(folds)}


def _flags_of_methods(
    fits: pd.DataFrame | None, representation: str, column: str, *, value: bool = True
) -> dict[tuple[str, str], tuple[bool, ...]]:
    """(subset, method) to whether the column has the value in each fold, in the order of folds."""
    if fits is None or column not in fits:
        return {}
    own = fits[fits["representation"] == representation].sort_values("fold")
    groups = own.groupby(["subset", "method"], sort=False)[column]
    return {(str(subset), str(method)): _are(flags, value) for (subset, method), flags in groups}


def _are(column: pd.Series, value: bool) -> tuple[bool, ...]:
    """Whether each element is the value; neither None nor NaN is."""
    return tuple(bool(flag) for flag in column.eq(value))


def _oasis_fits(subset: str, representation: str, fits: pd.DataFrame | None) -> pd.DataFrame | None:
    if fits is None:
        return None
    chosen = (fits["subset"] == subset) & (fits["method"] == "oasis") & (fits["representation"] == representation)
    return fits[chosen].sort_values("fold")


def _selected_steps(rows: pd.DataFrame | None) -> tuple[int, ...]:
    with_stop = _with_stop(rows)
    return () if with_stop is None else tuple(map(int, with_stop["stop_at_traced_aggressiveness"]))


def _with_stop(rows: pd.DataFrame | None) -> pd.DataFrame | None:
    """Fits of folds in which validation stops at the traced C; a study without a traced method has no such column."""
    if rows is None or "stop_at_traced_aggressiveness" not in rows:
        return None
    return rows[rows["stop_at_traced_aggressiveness"].notna()]


def _flags(rows: pd.DataFrame | None, column: str) -> tuple[bool, ...]:
    if rows is None or column not in rows:
        return ()
    return _are(rows[column], True)
