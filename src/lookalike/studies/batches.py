"""Batches: which fits of a study share a job, as the setting `batch` says; no number depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from lookalike.core.settings.data_sets import section_of
from lookalike.core.settings.methods import method_spec

Config = Mapping[str, Any]

SIZES = ("fold", "method", "subset")
"""A job for every fold of a method, for every method of a subset, or for a subset."""
NOT_OF_A_FIT = ("title", "note", "batch")
"""Settings of a method that change nothing of what it learns."""
PARTS = ("dataset", "representation", "subset", "method", "fold", "file")
"""Of the path of a run's file, from the left."""


class Batch(NamedTuple):
    """What one rule runs; it has a job for all values of the wildcards in its files."""

    name: str
    """What tells its rule from others of the data set."""
    log: str
    files: list[str]
    """What a job writes, with wildcards."""
    allowed: dict[str, list[str]]
    """Wildcard to the values that it may have."""
    fitted: list[str]
    """Methods, or systems of the fine-grained study, of all jobs together."""

    def fitted_by(self, wildcards: Mapping[str, str]) -> list[str]:
        """Those of one job: the one that a wildcard names, or all."""
        named = wildcards.get("method") or wildcards.get("system")
        return [named] if named else self.fitted


def contrast_tables(room: str, dataset: str) -> dict[str, str]:
    """Name of a study's tables of contrasts to their files."""
    return {name: f"results/{dataset}/{room}/{name}.parquet" for name in ("contrasts", "time_contrasts")}


def run_files(**values: Iterable[Any]) -> list[str]:
    """Files of runs, one for every combination of values; a part of the path without values stays a wildcard."""
    parts = [values.get(name, [f"{{{name}}}"]) for name in PARTS]
    return ["results/{}/runs/{}/{}/{}/{}/{}".format(*names) for names in product(*parts)]


def batch_of_fits(
    config: Config, dataset: str, name: str, wildcard: str, fits: Sequence[str], files: Iterable[str]
) -> Batch:
    """Jobs of one fit each, which a wildcard such as ``{ranker}`` names, or one job for all; ``{}`` is a file's fit."""
    one_by_one = config[section_of(config, dataset)][dataset]["batch"] == "method"
    shown, log = ([wildcard], wildcard) if one_by_one else (fits, "all")
    paths = [f"results/{{dataset}}/{file.format(fit)}" for fit in shown for file in files]
    named = {wildcard[1:-1]: list(fits)} if one_by_one and wildcard.count("{") == 1 else {}
    return Batch(name, f"logs/{{dataset}}/{name}/{log}.log", paths, {"dataset": [dataset], **named}, list(fits))


def batch_of(config: Config, dataset: str, method: str) -> str:
    """Size of the batches of a method: of the study's change to it, else of the study, else of the method."""
    study = config[section_of(config, dataset)][dataset]
    own = study["overrides"].get(method, {}).get("batch")
    return str(own or study.get("batch") or config["methods"][method]["batch"])


def methods_in(config: Config, dataset: str, size: str, methods: Iterable[str]) -> list[str]:
    """Those of some methods that run in batches of a size."""
    return [method for method in methods if batch_of(config, dataset, method) == size]


def fit_spec(config: Config, dataset: str, method: str, *of_codebook: Any, subset: str | None = None) -> dict[str, Any]:
    """What decides a fit of a method; arguments are those of `lookalike.core.settings.methods.method_spec`."""
    spec = method_spec(config, dataset, method, *of_codebook, subset=subset)
    return {key: value for key, value in spec.items() if key not in NOT_OF_A_FIT}


def fit_specs(
    config: Config, dataset: str, methods: Iterable[str], codebook: str, subset: str | None = None
) -> dict[str, dict[str, Any]]:
    """Method to what decides its fits, with a codebook or another representation, on a subset if there are any."""
    return {method: fit_spec(config, dataset, method, codebook, subset=subset) for method in methods}
