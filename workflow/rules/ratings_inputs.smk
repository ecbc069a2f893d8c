"""Inputs, outputs and settings of the galleries and the human evaluation, as functions."""

from lookalike.exhibits import galleries, rating_catalogue

RATINGS = f"{RESULTS}/ratings"
GALLERIES = ["/".join(name) for name in galleries.GALLERIES]
RATING_EXHIBITS = ["/".join(name) for name in rating_catalogue.RATING_EXHIBITS]
RATING_TABLES = [name for name in RATING_EXHIBITS if name.startswith("human/")]
RATING_FIGURES = [name for name in RATING_EXHIBITS if name not in RATING_TABLES]
RATED = [dataset for dataset, study in CATEGORY.items() if "ratings" in study and "oasis" in study["methods"]]


def rated(dataset):
    """The run of OASIS whose retrieved images a data set's galleries show and its raters judge."""
    study = CATEGORY[dataset]
    return {
        "dataset": dataset,
        "representation": study["representation"],
        "subset": study["ratings"]["subset"],
        "method": "oasis",
        "fold": study["ratings"]["fold"],
    }


def rated_ranks(wildcards):
    """Ranks of the run that is shown and rated."""
    return expand(f"{RUN}/{{fold}}/ranks.npz", **rated(wildcards.dataset))[0]


def rated_images(wildcards):
    """What a gallery or a plan is made from, by name; nothing where it cannot be run."""
    if not_run(wildcards.dataset):
        return {}
    files = {"images": f"{RESULTS}/images.json", "manifest": f"{RESULTS}/manifest.parquet"}
    return files | {"ranks": rated_ranks(wildcards)}


def raters_folder(dataset):
    """Where raters' files are put."""
    return Path(CATEGORY[dataset]["ratings"].get("path", f"data/ratings/{dataset}"))


def raters_files(wildcards):
    """The raters' files that are there."""
    return sorted(map(str, raters_folder(wildcards.dataset).glob("*.csv")))


def plan_settings(wildcards):
    """What decides a plan of ratings; where the answers are does not."""
    ratings = CATEGORY[wildcards.dataset]["ratings"]
    return {key: ratings[key] for key in ("queries", "retrieved", "random")}


def rating_exhibit_files(dataset, paper=""):
    """Every file of a data set's galleries and of the exhibits of its human evaluation, or of one paper's."""
    if dataset not in RATED:
        return []
    kinds = [
        (GALLERIES, [*PICTURE_FILES, ".csv"]),
        (RATING_TABLES, TABLE_FILES),
        (RATING_FIGURES, FIGURE_FILES),
    ]
    page = [] if paper or not_run(dataset) else [f"results/{dataset}/ratings/page.html"]
    return page + [
        f"results/{dataset}/exhibits/{name}{file}"
        for names, files in kinds
        for name in names
        if name.startswith(paper)
        for file in files
    ]
