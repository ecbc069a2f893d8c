"""Batches: which fits of a study share a job, as the setting `batch` says; no number depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

SIZES = ("fold", "method", "subset")
"""A job for every fold of a method, for every method of a subset, or for a subset."""
RUN_FILES = ("model.lookalike", "fit.json", "results.parquet", "ranks.npz")
"""Of every run of a study of methods, what `lookalike.studies.fits` writes."""
PARTS = ("dataset", "representation", "subset", "method", "fold", "file")
"""Of the path of a run's file, from the left, without its fixed folders."""


class Batch(NamedTuple):
    """What one rule runs; it has a job for all values of the wildcards in its files."""

    name: str
    """What tells its rule from others of the data set."""
    log: str
    files: list[str]
    """What a job writes, with wildcards. The data set is none: Snakemake compares a file with all outputs that begin as
    it does, up to their first wildcard, and so with those of one data set."""
    allowed: dict[str, list[str]]
    """Wildcard to the values that it may have."""
    fitted: list[str]
    """Methods, or systems of the fine-grained study, of all jobs together."""

    def fitted_by(self, wildcards: Mapping[str, str]) -> list[str]:
        """Return those of one job: the one that a wildcard names, or all."""
        named = wildcards.get("method") or wildcards.get("system")
        return [named] if named else self.fitted


def run_files(dataset: str, **values: Iterable[object]) -> list[str]:
    """Return files of runs, one for every combination of values; a part of the path without values stays a wildcard."""
    parts = [values.get(name, [f"{{{name}}}"]) for name in PARTS[1:]]
    return ["results/{}/runs/{}/{}/{}/{}/{}".format(dataset, *names) for names in product(*parts)]


def run_names(folder: Path) -> dict[str, str]:
    """Return the parts of the path of a run's folder, by name."""
    dataset, _, *others = folder.parts[-6:]
    return dict(zip(PARTS, (dataset, *others), strict=False))


def batch_of_fits(
    dataset: str, size: str, name: str, wildcard: str, fits: Sequence[str], files: Iterable[str]
) -> Batch:
    """Return jobs of one fit each, which a wildcard such as ``{ranker}`` names, or one for all; ``{}`` is its fit."""
    one_by_one = size == "method"
    names, log = ([wildcard], wildcard) if one_by_one else (fits, "all")
    paths = [f"results/{dataset}/{file.format(fit)}" for fit in names for file in files]
    named = {wildcard[1:-1]: list(fits)} if one_by_one and wildcard.count("{") == 1 else {}
    return Batch(name, f"logs/{dataset}/{name}/{log}.log", paths, named, list(fits))
