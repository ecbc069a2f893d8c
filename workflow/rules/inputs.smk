"""Inputs, outputs and settings that depend on the configuration, as functions that the other files call."""

RUN_FILES = [
    "model.npz",
    "fit.json",
    "selection.parquet",
    "metrics.parquet",
    "ranks.npz",
]

EXHIBITS = f"{RESULTS}/exhibits"
TABLES = ["oasis-jmlr-2010/table4", "oasis-2009-draft/table1"]
FIGURES = [
    "oasis-jmlr-2010/fig5",
    "oasis-jmlr-2010/fig6",
    "oasis-2009-draft/fig3",
    "oasis-2009-draft/fig4",
]
PICTURES = [
    "oasis-jmlr-2010/fig2",
    "representation/block_grid",
    "representation/palette",
    "representation/visterms",
]

TABLE_FILES = [".csv", ".md", ".tex", ".json", "_compare.csv", "_compare.md"]
PICTURE_FILES = [".png", ".svg", ".pdf", ".json"]
FIGURE_FILES = [*PICTURE_FILES, ".csv", "_compare.csv", "_compare.md"]


def folder_listing(wildcards):
    """Fingerprint of a user's own folder, so that adding, removing or replacing an image scans it again."""
    data = DATASETS[wildcards.dataset]
    if data["kind"] != "folder":
        return ""
    from lookalike.datasets.locate import listing_fingerprint

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
        method=[
            method
            for method in study["methods"]
            if file != "curve.parquet" or "trace" in settings.method_spec(config, wildcards.dataset, method)
        ],
        fold=folds(wildcards.dataset),
    )


def exhibit_files(dataset, paper=""):
    """Every file of a data set's exhibits, or of one paper's; pictures of images need the images."""
    kinds = [
        (TABLES, TABLE_FILES),
        (FIGURES, FIGURE_FILES),
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
    return [file for dataset in datasets for file in [f"results/{dataset}/exhibits/index.md", *exhibit_files(dataset)]]


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


def n_classes_asked_for(subsets, subset):
    """Number of classes of a subset as far as the configuration knows it before anything is scanned; else 0."""
    classes = subsets[subset]["classes"]
    if classes == "published":
        from lookalike.datasets.subsets import read_published_subsets

        return len(read_published_subsets(RESOURCES / "class-subsets.csv").get(subset, []))
    return 0 if isinstance(classes, str) else len(classes)


def exhibit_context(wildcards):
    """What an exhibit has to know about its study besides the numbers."""
    dataset = wildcards.dataset
    study, data = CATEGORY[dataset], DATASETS[dataset]
    name = f"{wildcards.get('paper')}/{wildcards.get('table') or wildcards.get('figure')}"
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "not_run": not_run(dataset),
        "representation": study["representation"],
        "splits": study["splits"],
        "subsets": {
            subset: study["subsets"][subset] | {"n_classes": n_classes_asked_for(study["subsets"], subset)}
            for subset in study.get("exhibits", {}).get(name, list(study["subsets"]))
        },
        "methods": {method: config["methods"][method].get("title", method) for method in study["methods"]},
    }
