"""Inputs, outputs and settings that depend on the configuration, as functions that the other files call."""

RUN_FILES = [
    "model.npz",
    "model.json",
    "fit.json",
    "selection.parquet",
    "metrics.parquet",
    "ranks.npz",
]

EXHIBITS = f"{RESULTS}/exhibits"
TABLES = ["oasis-jmlr-2010/table4", "oasis-2009-draft/table1", "representation/ablations"]
TEXTS = ["oasis-jmlr-2010/text"]
CURVE_FIGURES = ["oasis-jmlr-2010/fig5", "oasis-2009-draft/fig3"]
RANK_FIGURES = ["oasis-jmlr-2010/fig6", "oasis-2009-draft/fig4"]
PICTURES = [
    "oasis-jmlr-2010/fig2",
    "representation/block_grid",
    "representation/palette",
    "representation/visterms",
]

TABLE_FILES = [".csv", ".md", ".tex", ".json", "_compare.csv", "_compare.md"]
PICTURE_FILES = [".png", ".svg", ".pdf", ".json"]
FIGURE_FILES = [*PICTURE_FILES, ".csv", "_compare.csv", "_compare.md"]


def drawing_seed(dataset):
    """Seed of a synthetic data set, named by it."""
    return integer_seed(SEED, "datasets", dataset)


def drawn_folder(dataset):
    """Folder of a synthetic data set's images; other settings draw into another one."""
    spec = SyntheticCategories.from_settings(DATASETS[dataset]["synthetic"], drawing_seed(dataset))
    return f"results/{dataset}/images/{spec.fingerprint()}"


def folder_listing(wildcards):
    """Fingerprint of a user's own folder, so that adding, removing or replacing an image scans it again.

    A folder that is away (an unmounted disk) keeps the one that its results were made with.
    """
    data = DATASETS[wildcards.dataset]
    if data["kind"] != "folder":
        return ""
    recorded = Path(f"results/{wildcards.dataset}/listing.txt")
    if not Path(data["path"]).is_dir() and recorded.is_file():
        return recorded.read_text().strip()
    return listing_fingerprint(data["path"])


def block_shards(wildcards):
    """Every shard of the blocks that a representation is made from."""
    return [f"{descriptor_of(wildcards)}/blocks-{shard}.npz" for shard in shards(wildcards.dataset)]


def subset_settings(wildcards):
    """Settings of one subset, or a sentence that says which there are."""
    subsets = CATEGORY[wildcards.dataset]["subsets"]
    if wildcards.subset not in subsets:
        raise WorkflowError(
            f"{wildcards.dataset} has no subset {wildcards.subset!r} in config.yaml; there are: {', '.join(subsets)}"
        )
    return subsets[wildcards.subset]


def methods_with_jobs(dataset, jobs):
    """Methods of a data set's study that run one job per fold, or one per subset, as a wildcard constraint."""
    methods = [
        method
        for method in CATEGORY[dataset]["methods"]
        if settings.method_spec(config, dataset, method)["jobs"] == jobs
    ]
    return "|".join(methods) or "(?!)"


def files_of_job(dataset, jobs, files):
    """Outputs of a job that runs one fold, or all folds of a fast method."""
    if jobs == "fold":
        return [f"{RUN}/{{fold}}/{file}" for file in files]
    return expand(f"{RUN}/{{fold}}/{{file}}", fold=folds(dataset), file=files, allow_missing=True)


def log_of_job(what, jobs):
    """Log of a job that runs one fold, or all folds of a fast method."""
    part = "{fold}" if jobs == "fold" else "all"
    return f"{LOGS}/{what}/{{representation}}/{{subset}}/{{method}}/{part}.log"


def folds_of_job(wildcards):
    """The folds that a job runs."""
    return [int(wildcards.fold)] if "fold" in wildcards.keys() else list(folds(wildcards.dataset))


def study_runs(wildcards, file):
    """One file of every run of a data set's category study."""
    study = CATEGORY[wildcards.dataset]
    return expand(
        f"{RUN}/{{fold}}/{file}",
        dataset=wildcards.dataset,
        representation=[study["representation"], *study["ablations"]],
        subset=study["subsets"],
        method=study["methods"],
        fold=folds(wildcards.dataset),
    )


def traced_methods(dataset):
    """Methods of a data set's study whose mAP is traced along training."""
    return [
        method for method in CATEGORY[dataset]["methods"] if "trace" in settings.method_spec(config, dataset, method)
    ]


def traced_aggressiveness(dataset):
    """The aggressiveness that the learning curves of a data set are traced at."""
    values = [
        settings.method_spec(config, dataset, method)["trace"]["aggressiveness"] for method in traced_methods(dataset)
    ]
    return values[0] if values else 0.1


def shown_subsets(dataset, exhibit):
    """The subsets that an exhibit shows."""
    study = CATEGORY[dataset]
    return study.get("exhibits", {}).get(exhibit, list(study["subsets"]))


def study_curves(wildcards):
    """The traces that a data set's figures show."""
    study = CATEGORY[wildcards.dataset]
    shown = {subset for figure in CURVE_FIGURES for subset in shown_subsets(wildcards.dataset, figure)}
    return expand(
        f"{RUN}/{{fold}}/curve.parquet",
        dataset=wildcards.dataset,
        representation=study["representation"],
        subset=sorted(shown),
        method=traced_methods(wildcards.dataset),
        fold=folds(wildcards.dataset),
    )


def exhibit_files(dataset, paper=""):
    """Every file of a data set's exhibits, or of one paper's.

    Pictures of images need the images, learning curves a method that is traced.
    """
    kinds = [
        ([*TABLES, *TEXTS], TABLE_FILES),
        ([*RANK_FIGURES, *(CURVE_FIGURES if traced_methods(dataset) else [])], FIGURE_FILES),
        ([] if not_run(dataset) else PICTURES, PICTURE_FILES),
    ]
    return [
        f"results/{dataset}/exhibits/{name}{file}"
        for names, files in kinds
        for name in names
        if name.startswith(paper)
        for file in files
    ]


def exhibits_of(datasets):
    """Every file of the exhibits of some data sets, and the lists of them: a target that notices each missing file."""
    lists = ["exhibits/index.md", "exhibits/headline.txt"]
    return [
        file
        for dataset in datasets
        for file in [*(f"results/{dataset}/{file}" for file in lists), *exhibit_files(dataset)]
    ]


def own_target(dataset):
    """Input function of a data set's own target; where it cannot be run, the scan fails and says why, unlike `all`."""
    return lambda wildcards: f"results/{dataset}/manifest.parquet" if not_run(dataset) else exhibits_of([dataset])


def paper_exhibits(paper):
    """Every exhibit of a paper, for each data set that is not synthetic."""
    return [file for dataset in studied(synthetic=False) for file in exhibit_files(dataset, f"{paper}/")]


def study_descriptor(wildcards):
    """Folder of the block descriptors of a data set's own representation."""
    descriptor = config["representations"][CATEGORY[wildcards.dataset]["representation"]]["descriptor"]
    return f"results/{wildcards.dataset}/descriptors/{descriptor}"


def study_features(wildcards):
    """Folder of a data set's own representation."""
    return f"results/{wildcards.dataset}/features/{CATEGORY[wildcards.dataset]['representation']}"


def if_run(pattern):
    """Input function of a file that is left out where the data set cannot be run."""
    return lambda wildcards: [] if not_run(wildcards.dataset) else pattern


def published_classes(subset):
    """The folders that the papers list under a subset's id; none for a subset of the user's own."""
    return subsets.read_published_subsets(RESOURCES / "class-subsets.csv").get(subset, [])


def subset_in_exhibit(dataset, subset):
    """What an exhibit has to know about a subset; `n_classes` is 0 as long as only a scan can tell."""
    described = CATEGORY[dataset]["subsets"][subset]
    classes, published = described["classes"], published_classes(subset)
    asked = published if classes == "published" else classes if isinstance(classes, list) else []
    return described | {"n_classes": len(asked), "published_classes": published}


def exhibit_context(wildcards):
    """What an exhibit has to know about its study besides the numbers."""
    dataset = wildcards.dataset
    study, data = CATEGORY[dataset], DATASETS[dataset]
    name = wildcards.get("table") or wildcards.get("figure") or wildcards.get("text")
    shown = shown_subsets(dataset, f"{wildcards.get('paper')}/{name}")
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "not_run": not_run(dataset),
        "representation": study["representation"],
        "representation_settings": config["representations"][study["representation"]],
        "splits": study["splits"],
        "subsets": {subset: subset_in_exhibit(dataset, subset) for subset in shown},
        "methods": {method: config["methods"][method].get("title", method) for method in study["methods"]},
        "traced_aggressiveness": traced_aggressiveness(dataset),
    }
