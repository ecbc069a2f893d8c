"""What an exhibit has to know besides numbers, put together from the configuration and from what the fits recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lookalike.exhibits.reference import Context, SubsetInfo

if TYPE_CHECKING:
    import pandas as pd

WHY_NOT_COMPARABLE = {"synthetic": "synthetic images", "folder": "other classes than the paper's"}
"""Kinds of data set whose numbers stand beside the printed ones for orientation only."""


def study_context(study: Mapping[str, Any], fits: pd.DataFrame | None) -> Context:
    """Return the context of one exhibit of the category study.

    Parameters
    ----------
    study : mapping
        ``dataset``, ``title``, ``kind``, ``not_run``, ``representation``, ``splits``, ``subsets`` (id to title, printed
        settings and, where the configuration knows it, n_classes) and ``methods`` (id to title).
    fits : DataFrame or None
        What each fit recorded (timing.parquet); None where nothing was run.

    Returns
    -------
    Context
    """
    subsets = tuple(
        SubsetInfo(
            id=subset,
            title=settings.get("title", subset),
            n_classes=_n_classes(subset, settings, fits),
            printed=settings.get("printed", {}),
        )
        for subset, settings in study["subsets"].items()
    )
    return Context(
        dataset=study["dataset"],
        title=study["title"],
        synthetic=study["kind"] == "synthetic",
        comparable=study["kind"] not in WHY_NOT_COMPARABLE,
        subsets=subsets,
        methods=tuple(study["methods"]),
        representation=study["representation"],
        n_folds=study["splits"]["folds"],
        n_train=study["splits"]["train"],
        n_test=study["splits"]["test"],
        reason=WHY_NOT_COMPARABLE.get(study["kind"], ""),
        not_run=study["not_run"] or None,
        method_titles=dict(study["methods"]),
        selected_steps={subset.id: _selected_steps(subset.id, study["representation"], fits) for subset in subsets},
    )


def _n_classes(subset: str, settings: Mapping[str, Any], fits: pd.DataFrame | None) -> int:
    """Classes that were really used (a class may have been dropped); before any run, those that were asked for."""
    if fits is not None:
        return int(fits.loc[fits["subset"] == subset, "n_classes"].max())
    return int(settings.get("n_classes", 0))


def _selected_steps(subset: str, representation: str, fits: pd.DataFrame | None) -> tuple[int, ...]:
    if fits is None:
        return ()
    rows = fits[
        (fits["subset"] == subset) & (fits["method"] == "oasis") & (fits["representation"] == representation)
    ].sort_values("fold")
    return tuple(int(steps) for steps in rows["n_steps"])
