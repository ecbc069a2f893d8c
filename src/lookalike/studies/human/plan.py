"""What the settings ask of the human study: the run of OASIS that is shown and rated, its files and its exhibits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookalike.core.settings.data_sets import settings_of_data
from lookalike.studies.batches import contrast_tables

Config = Mapping[str, Any]


def datasets(config: Config) -> list[str]:
    """Labelled data sets that ask for galleries and ratings."""
    return [dataset for dataset, study in config["category"].items() if "ratings" in study]


def rated_run(config: Config, dataset: str) -> dict[str, Any]:
    """The run of OASIS whose retrieved images are shown and rated: ``representation``, ``subset`` and ``fold``."""
    study = config["category"][dataset]
    ratings = study["ratings"]
    return {"representation": study["representation"], "subset": ratings["subset"], "fold": ratings["fold"]}


def images(config: Config, dataset: str) -> dict[str, str]:
    """Files that galleries and questionnaires are made from: the images and the rankings of the category study."""
    run = "{representation}/{subset}/oasis/{fold}".format(**rated_run(config, dataset))
    results = f"results/{dataset}"
    return {
        "images": f"{results}/images.json",
        "manifest": f"{results}/manifest.parquet",
        "ranks": f"{results}/runs/{run}/ranks.npz",
    }


def raters_folder(config: Config, dataset: str) -> Path:
    """Where raters' files are put."""
    return Path(config["category"][dataset]["ratings"].get("path", f"data/ratings/{dataset}"))


def raters_files(config: Config, dataset: str) -> list[str]:
    """The raters' files that are there."""
    return sorted(map(str, raters_folder(config, dataset).glob("[!.]*.csv")))


def questionnaire_settings(config: Config, dataset: str) -> dict[str, int]:
    """What decides a questionnaire; where the answers are does not."""
    ratings = config["category"][dataset]["ratings"]
    return {f"n_{name}": ratings[name] for name in ("queries", "retrieved", "random")}


def exhibit_settings(config: Config, dataset: str, not_run: str) -> dict[str, Any]:
    """Plain settings of a `lookalike.studies.human.study.HumanStudy`."""
    study, run = config["category"][dataset], rated_run(config, dataset)
    return {
        **settings_of_data(config, dataset, not_run),
        "titles": {"oasis": config["methods"]["oasis"].get("title", "")},
        "representation": run["representation"],
        "subset_title": study["subsets"][run["subset"]].get("title", run["subset"]),
        "fold": run["fold"],
        "n_folds": study["splits"]["folds"],
    }


def exhibit_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table or file to its path."""
    numbers = {name: f"results/{dataset}/human/{name}.parquet" for name in ("metrics", "nips")}
    return {**images(config, dataset), **numbers, **contrast_tables("human", dataset)}


def contrast_files(config: Config, dataset: str) -> dict[str, str | list[str]]:
    """Name of a table to its file, of those that contrasts are made of."""
    files = exhibit_files(config, dataset)
    return {name: files[name] for name in ("metrics", "nips")}
