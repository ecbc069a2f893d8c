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
# every exhibit by kind, with the tables that it is drawn from
TABLES = {
    "oasis-jmlr-2010/table4": ["metrics", "fits", "comparison"],
    "oasis-jmlr-2010/table5": ["fits"],
    "oasis-jmlr-2010/text": ["fits", "manifest"],
    "oasis-2009-draft/table1": ["metrics", "fits", "comparison"],
    "oasis-2009-draft/table2": ["fits"],
    "representation/ablations": ["metrics", "fits"],
    "learning/comparison": ["comparison", "fits"],
    "learning/claims": ["claims", "metrics", "fits", "curves", "comparison", "selections", "rankers", "bounds"],
}
FIGURES = {
    "oasis-jmlr-2010/fig5": ["metrics", "fits", "curves"],
    "oasis-jmlr-2010/fig6": ["metrics", "fits"],
    "oasis-jmlr-2010/fig7": ["rankers", "fits"],
    "oasis-jmlr-2010/fig8": ["metrics", "fits"],
    "oasis-jmlr-2010/fig9": ["curves", "fits"],
    "oasis-2009-draft/fig3": ["metrics", "fits", "curves"],
    "oasis-2009-draft/fig4": ["metrics", "fits"],
    "oasis-2009-draft/fig5": ["metrics", "fits"],
    "learning/mcml": ["metrics", "fits", "curves"],
    "learning/symmetry": ["curves", "fits"],
    "learning/loss_bound": ["bounds", "fits"],
}
PICTURES = [
    "oasis-jmlr-2010/fig2",
    "representation/block_grid",
    "representation/palette",
    "representation/visterms",
]
NUMBER_FILES = {
    "metrics": f"{RESULTS}/metrics.parquet",
    "curves": f"{RESULTS}/curves.parquet",
    "fits": f"{RESULTS}/timing.parquet",
    "comparison": f"{RESULTS}/comparison.csv",
    "selections": f"{RESULTS}/selections.parquet",
    "rankers": f"{RESULTS}/rankers.parquet",
    "bounds": f"{RESULTS}/bounds.parquet",
    "manifest": f"{RESULTS}/manifest.parquet",
}

TABLE_FILES = [".csv", ".md", ".tex", ".json", "_compare.csv", "_compare.md"]
PICTURE_FILES = [".png", ".svg", ".pdf", ".json"]
FIGURE_FILES = [*PICTURE_FILES, ".csv", "_compare.csv", "_compare.md"]


def in_report(caption, files):
    """Files of exhibits, of which the one to look at, a picture or a table, goes into Snakemake's own report."""

    def marked(file):
        def part(position):
            return lambda wildcards: Path(file.format(**dict(wildcards.items()))).with_suffix("").parts[position]

        return report(
            file,
            caption=f"../report/{caption}.rst",
            category=lambda wildcards: DATASETS[wildcards.dataset].get("title", wildcards.dataset),
            subcategory=part(-2),
            labels=lambda wildcards: {"exhibit": part(-1)(wildcards)},
        )

    looked_at = (".png", ".md")
    return [marked(file) if file.endswith(looked_at) and not file.endswith("_compare.md") else file for file in files]


def drawing_seed(dataset):
    """Seed of a synthetic data set, named by it."""
    return integer_seed(SEED, "datasets", dataset)


def synthetic_spec(dataset):
    """What the images of a synthetic data set are like."""
    data = DATASETS[dataset]
    recipes = {"synthetic_landmarks": SyntheticLandmarks, "synthetic_triplets": SyntheticTriplets}
    return recipes.get(data["kind"], SyntheticCategories).from_settings(data[data["kind"]], drawing_seed(dataset))


def drawn_folder(dataset):
    """Folder of a synthetic data set's images; other settings draw into another one."""
    return f"results/{dataset}/images/{synthetic_spec(dataset).fingerprint()}"


def folder_listing(wildcards):
    """Fingerprint of a user's own folder, so that adding, removing or replacing an image scans it again.

    A folder that is away (an unmounted disk) keeps the one that its results were made with.
    """
    data = DATASETS[wildcards.dataset]
    if data["kind"] not in ("folder", "triplets", "class_triplets"):
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


def run_methods(dataset):
    """Methods of a data set's study that are selected, fitted and ranked."""
    study = CATEGORY[dataset]
    return [*study["methods"], *study["variants"], *study["timed"]]


def methods_with_jobs(dataset, jobs):
    """Methods of a data set's study that run one job per fold, or one per subset, as a wildcard constraint."""
    methods = [
        method
        for method in [*run_methods(dataset), *CATEGORY[dataset]["projected"]]
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


def own_runs(wildcards, file, timed=True):
    """One file of every run of a data set's category study in its own representation."""
    study = CATEGORY[wildcards.dataset]
    left_out = [] if timed else study["timed"]
    return expand(
        f"{RUN}/{{fold}}/{file}",
        dataset=wildcards.dataset,
        representation=study["representation"],
        subset=study["subsets"],
        method=[method for method in run_methods(wildcards.dataset) if method not in left_out],
        fold=folds(wildcards.dataset),
    )


def study_runs(wildcards, file):
    """One file of every run of a data set's study; in the category study also those in further representations."""
    study = CATEGORY[wildcards.dataset]
    ablations = expand(
        f"{RUN}/{{fold}}/{file}",
        dataset=wildcards.dataset,
        representation=study["ablations"],
        subset=study["subsets"],
        method=study.get("ablation_methods", study["methods"]),
        fold=folds(wildcards.dataset),
    )
    return [*own_runs(wildcards, file), *ablations]


def compared_families(wildcards):
    """The methods that OASIS is compared with, by question: competitors, and its own variants."""
    study = CATEGORY[wildcards.dataset]
    families = {"compared": [method for method in study["methods"] if method != "oasis"], "variants": study["variants"]}
    return {name: methods for name, methods in families.items() if methods}


def learner_of(method):
    """Class name of a method's learner."""
    return config["methods"][method]["learner"]


def traced(dataset, methods):
    """Those of some methods whose mAP is traced along training."""
    return [method for method in methods if "trace" in settings.method_spec(config, dataset, method)]


def drawn_curves(dataset):
    """Figure to the methods whose curves it shows, where the study has them."""
    study = CATEGORY[dataset]
    oasis = traced(dataset, [method for method in study["methods"] if method == "oasis"])
    mcml = traced(dataset, [method for method in study["methods"] if method == "mcml"])
    projected = traced(dataset, study["projected"])
    figures = {
        "oasis-jmlr-2010/fig5": oasis,
        "oasis-2009-draft/fig3": oasis,
        "learning/symmetry": oasis,
        "learning/mcml": mcml,
        "oasis-jmlr-2010/fig9": [*oasis, *projected] if projected else [],
    }
    return {figure: methods for figure, methods in figures.items() if methods}


def traced_aggressiveness(dataset):
    """The aggressiveness that the learning curves of a data set are traced at."""
    values = [
        settings.method_spec(config, dataset, method)["trace"]["aggressiveness"]
        for method in traced(dataset, CATEGORY[dataset]["methods"])
        if learner_of(method) == "OASIS"
    ]
    return values[0] if values else 0.1


def shown_subsets(dataset, exhibit):
    """The subsets that an exhibit shows."""
    study = CATEGORY[dataset]
    return study.get("exhibits", {}).get(exhibit, list(study["subsets"]))


def study_curves(wildcards):
    """The traces that a data set's figures show."""
    study = CATEGORY[wildcards.dataset]
    shown = {
        (subset, method)
        for figure, methods in drawn_curves(wildcards.dataset).items()
        for subset in shown_subsets(wildcards.dataset, figure)
        for method in methods
    }
    return [
        file
        for subset, method in sorted(shown)
        for file in expand(
            f"{RUN}/{{fold}}/curve.parquet",
            dataset=wildcards.dataset,
            representation=study["representation"],
            subset=subset,
            method=method,
            fold=folds(wildcards.dataset),
        )
    ]


def ranker_folds(dataset):
    """The partitions that rankers are trained on."""
    return list(folds(dataset))[: CATEGORY[dataset]["rankers"].get("folds")]


def ranker_matrices(wildcards):
    """W of every ranker of a subset, along training."""
    count = CATEGORY[wildcards.dataset]["rankers"]["count"]
    return expand(
        f"{RESULTS}/rankers/{{representation}}/{{subset}}/{{ranker}}.npz", ranker=range(count), allow_missing=True
    )


def of_shown_subsets(exhibit, file):
    """Input function of one file a subset, in a data set's own representation, of the subsets an exhibit shows."""
    return lambda wildcards: expand(
        file,
        dataset=wildcards.dataset,
        representation=CATEGORY[wildcards.dataset]["representation"],
        subset=shown_subsets(wildcards.dataset, exhibit),
    )


def available_numbers(dataset):
    """Which tables a data set's study makes; none where it cannot be run."""
    study = CATEGORY[dataset]
    if not_run(dataset):
        return []
    made = {
        "metrics": True,
        "fits": True,
        "manifest": True,
        "selections": True,
        "curves": bool(drawn_curves(dataset)),
        "comparison": "oasis" in study["methods"] and len(run_methods(dataset)) > 1,
        "rankers": "rankers" in study,
        "bounds": "loss_bound" in study,
    }
    return [name for name, is_made in made.items() if is_made]


def numbers_of_exhibit(wildcards):
    """Input files of an exhibit by the name of what they hold."""
    name = wildcards.get("table") or wildcards.figure
    available = available_numbers(wildcards.dataset)
    files = {need: NUMBER_FILES[need] for need in (TABLES | FIGURES)[name] if need in available}
    return files | ({"claims": RESOURCES / "claims.csv"} if name == "learning/claims" else {})


def drawn_figures(dataset):
    """Figures that a data set's study has the methods for."""
    study = CATEGORY[dataset]
    curves = drawn_curves(dataset)
    needs = {
        **{figure: figure in curves for figure, tables in FIGURES.items() if "curves" in tables},
        "oasis-jmlr-2010/fig7": "rankers" in study,
        "oasis-jmlr-2010/fig8": bool(study["variants"]),
        "oasis-2009-draft/fig5": bool(study["variants"]),
        "learning/loss_bound": "loss_bound" in study,
    }
    return [figure for figure in FIGURES if needs.get(figure, True)]


def drawn_tables(dataset):
    """Tables that a data set's study has the methods for."""
    study = CATEGORY[dataset]
    compared = "oasis" in study["methods"] and len(run_methods(dataset)) > 1
    return [table for table in TABLES if compared or table != "learning/comparison"]


def exhibit_files(dataset, paper=""):
    """Every file of a data set's exhibits, or of one paper's.

    Pictures of images need the images, figures the methods that they show.
    """
    drawn = rooms.drawn_exhibits(config, dataset, paper.rstrip("/"))
    files = [file for exhibits in drawn.values() for file in rooms.exhibit_paths(dataset, exhibits)]
    if dataset in CATEGORY and "category" not in drawn:
        files += category_exhibit_files(dataset, paper)
    return files


def category_exhibit_files(dataset, paper=""):
    """Every file of the exhibits of the category study, or of one paper's."""
    kinds = [
        (drawn_tables(dataset), TABLE_FILES),
        (drawn_figures(dataset), FIGURE_FILES),
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


def target_of(dataset):
    """Name of a data set's own target; `demo` is that of all synthetic ones."""
    return "category_demo" if dataset == "demo" else dataset


def own_target(dataset):
    """Input function of a data set's own target; where it cannot be run, the scan fails and says why, unlike `all`."""
    return lambda wildcards: f"results/{dataset}/manifest.parquet" if not_run(dataset) else exhibits_of([dataset])


def paper_exhibits(paper):
    """Every exhibit of a paper, for each data set that is not of the demo."""
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


def titles(methods):
    """Method to its name in tables and legends."""
    return {method: config["methods"][method].get("title", method) for method in methods}


def notes(dataset):
    """Method to what captions say of it."""
    specs = {method: settings.method_spec(config, dataset, method) for method in run_methods(dataset)}
    return {method: spec["note"] for method, spec in specs.items() if spec.get("note")}


def exhibit_context(wildcards):
    """What an exhibit has to know about its study besides the numbers."""
    dataset = wildcards.dataset
    study, data = CATEGORY[dataset], DATASETS[dataset]
    name = wildcards.get("table") or wildcards.get("figure")
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
        "methods": titles(study["methods"]),
        **{role: study[role] for role in ("variants", "timed", "projected")},
        "titles": titles([*study["variants"], *study["timed"], *study["projected"]]),
        "notes": notes(dataset),
        "projection_intervals": {
            method: settings.method_spec(config, dataset, method)["parameters"].get("projection_interval")
            for method in study["projected"]
        },
        "traced_aggressiveness": traced_aggressiveness(dataset),
    }
