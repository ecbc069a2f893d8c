"""Inputs, outputs and settings of the web study that depend on the configuration, as functions."""

from lookalike.exhibits import web_catalogue

RANKER = f"{RESULTS}/rankers/{{ranker}}"
RANKER_FILES = ["W.npy", "fit.json", "curve.parquet"]

WEB_NUMBER_FILES = {
    "precision": f"{RESULTS}/precision.parquet",
    "curve": f"{RESULTS}/curve.parquet",
    "fits": f"{RESULTS}/timing.parquet",
    "runtime": f"{RESULTS}/runtime.parquet",
    "marginals": f"{RESULTS}/marginals.parquet",
    "counts": f"{RESULTS}/marginals.csv",
    "approximate": f"{RESULTS}/approximate.parquet",
}


def simulation_settings(wildcards):
    """What a simulated data set is like; its title and its shards change no byte of it."""
    return DATASETS[wildcards.dataset]["simulation"]


def visterm_shards(wildcards):
    """Every shard of a data set's visterms."""
    return expand(f"{RESULTS}/visterms/shard-{{shard}}", dataset=wildcards.dataset, shard=shards(wildcards.dataset))


def of_rankers(name):
    """Input function of one file of every ranker."""
    return lambda wildcards: expand(
        f"{RANKER}/{name}", dataset=wildcards.dataset, ranker=range(WEB[wildcards.dataset]["training"]["rankers"])
    )


def web_runs(dataset, file):
    """What the tables of metrics and of fits of a web study are gathered from."""
    if file == "metrics.parquet":
        return [f"results/{dataset}/web_metrics.parquet"]
    return expand(f"{RANKER}/{file}", dataset=dataset, ranker=range(WEB[dataset]["training"]["rankers"]))


def triplet_settings(wildcards):
    """What decides a run's triplets and steps; threads and checkpoints do not."""
    training = WEB[wildcards.dataset]["training"]
    return {key: value for key, value in training.items() if key not in ("threads", "rankers", "checkpoint_seconds")}


def timed_settings(wildcards):
    """What decides a fit of the runtime study; which other sizes there are does not."""
    study = WEB[wildcards.dataset]
    if wildcards.learner == "lmnn":
        return {key: study["runtime"][key] for key in ("max_iter", "time_limit")}
    return {
        **{key: study["runtime"][key] for key in ("aggressiveness", "patience", "tolerance", "steps_per_image")},
        **{f"validation_{key}": value for key, value in study["validation"].items()},
    }


def timed_sizes(dataset, learner):
    """Numbers of images that a learner is timed at."""
    runtime = WEB[dataset].get("runtime", {})
    return runtime.get("images" if learner == "oasis" else "lmnn", [])


def timed_runs(wildcards):
    """One row of the runtime study for every learner and size."""
    return [
        f"results/{wildcards.dataset}/runtime/{learner}-{size}.parquet"
        for learner in ("oasis", "lmnn")
        for size in timed_sizes(wildcards.dataset, learner)
    ]


def web_methods(dataset):
    """Id to title of what retrieves."""
    rankers = WEB[dataset]["training"]["rankers"]
    averaged = {"oasis-averaged": f"OASIS, average of {rankers}"} if rankers > 1 else {}
    return {"oasis": "OASIS"} | averaged | {"euclidean": "Euclidean"}


def drawn_web(dataset, exhibits):
    """Those of some exhibits that a web study has the numbers for."""
    study = WEB[dataset]
    missing = {"runtime": "runtime" not in study, "approximate": "approximate" not in study}
    return [exhibit for exhibit in exhibits if not any(missing.get(need) for need in web_catalogue.NUMBERS_OF[exhibit])]


def web_tables(dataset):
    """Tables of a web study."""
    return drawn_web(dataset, web_catalogue.WEB_TABLES)


def web_figures(dataset):
    """Figures of a web study."""
    return drawn_web(dataset, web_catalogue.WEB_FIGURES)


def web_exhibit_files(dataset, paper=""):
    """Every file of a web study's exhibits, or of one paper's."""
    kinds = [(web_tables(dataset), TABLE_FILES), (web_figures(dataset), FIGURE_FILES)]
    return [
        f"results/{dataset}/exhibits/{name}{file}"
        for names, files in kinds
        for name in names
        if name.startswith(paper)
        for file in files
    ]


def web_numbers(exhibits):
    """Input function of what some exhibits are drawn from, by name."""

    def numbers(wildcards):
        dataset = wildcards.dataset
        made = {name for name in WEB_NUMBER_FILES if name not in ("runtime", "approximate") or name in WEB[dataset]}
        needs = {need for exhibit in exhibits(dataset) for need in web_catalogue.NUMBERS_OF[exhibit]} | {
            "fits",
            "counts",
        }
        return {name: WEB_NUMBER_FILES[name] for name in WEB_NUMBER_FILES if name in needs & made}

    return numbers


def web_context(wildcards):
    """What the exhibits of a web study have to know besides the numbers."""
    dataset = wildcards.dataset
    data = DATASETS[dataset]
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "not_run": not_run(dataset).removeprefix("not run: "),
        "methods": web_methods(dataset),
        "words": data["simulation"]["words"],
        "runtime": {key: WEB[dataset].get("runtime", {}).get(key) for key in ("aggressiveness", "patience")},
    }
