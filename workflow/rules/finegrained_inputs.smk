"""Inputs, outputs and settings of the fine-grained study that depend on the configuration, as functions."""

from importlib.util import find_spec

from lookalike.datasets.rated_triplets import has_grades, has_training_images
from lookalike.exhibits import triplet_catalogue
from lookalike.exhibits.triplet_context import FEATURES as HAND_CRAFTED
from lookalike.exhibits.triplet_context import contrast_pairs
from lookalike.features.describers import DESCRIBERS

SYSTEM = f"{RESULTS}/systems/{{system}}"
# OASIS on the vectors of another system
ON_VECTORS = {"oasis": "l1hashkpca", "oasis-on-single-scale-ranking": "single-scale-ranking"}
EMBEDDED = "single-scale-and-visual-feature"
NETWORK_FILES = ["model.npz", "filters.npz", "vectors.npy", "distances.npy", "curve.parquet", "fit.json"]

TRIPLET_NUMBER_FILES = {
    "intervals": f"{RESULTS}/intervals.parquet",
    "contrasts": f"{RESULTS}/contrasts.parquet",
    "fits": f"{RESULTS}/timing.parquet",
    "curves": f"{RESULTS}/network_curves.parquet",
}


def triplet_settings_of(wildcards):
    """What decides a data set's images and triplets."""
    data = DATASETS[wildcards.dataset]
    return {"kind": data["kind"], **data.get(data["kind"], {})}


def triplets_folder(dataset):
    """Folder that the paths of a data set's manifest start from."""
    data = DATASETS[dataset]
    return drawn_folder(dataset) if data["kind"] == "synthetic_triplets" else data["path"]


def drawn_triplet_shards(wildcards):
    """Marks that all images of a data set are drawn; nothing where they are not made by code."""
    dataset = wildcards.dataset
    if DATASETS[dataset]["kind"] != "synthetic_triplets":
        return []
    return expand(f"{RESULTS}/drawn/{{shard}}.json", dataset=dataset, shard=shards(dataset))


@cache
def no_training(dataset):
    """Why nothing can be learned from relevance on a data set, as a sentence; empty if it can."""
    data = DATASETS[dataset]
    if data["kind"] != "triplets" or has_training_images(Path(data["path"])) or is_measured(dataset, "oasis"):
        return ""
    return f"not run: put images to learn from into {data['path']}/training, in folders by category"


@cache
def graded(dataset):
    """Whether relevance within a category has grades; without, all negatives are of other categories."""
    data = DATASETS[dataset]
    if data["kind"] != "triplets" or is_measured(dataset, "multiscale-uniform-000"):
        return True
    return has_grades(Path(data["path"]))


def is_measured(dataset, system):
    """Whether a system was measured before: results stay when what they were made from is away."""
    return Path(f"results/{dataset}/systems/{system}/distances.npy").exists()


@cache
def no_torch(dataset):
    """Why networks cannot be trained, as a sentence; empty if they can. In conda environments torch is at hand."""
    deployed = {str(method).rpartition(".")[2].lower() for method in workflow.deployment_settings.deployment_method}
    if "conda" in deployed or find_spec("torch") is not None or is_measured(dataset, "deep-ranking"):
        return ""
    return "not run: install torch with `pip install lookalike[deep]`, or `make demo` in the project's folder"


def sampled_networks(dataset):
    """Networks of the sampling study that no table shows, by their id: share of out-of-class negatives, weighted."""
    study = FINEGRAINED[dataset]
    if not study.get("sampling_study") or not graded(dataset):
        return {}
    shares = [share for share in study["sampling_study"]["out_of_class"] if share != study["sampler"]["out_of_class"]]
    weighted = {f"multiscale-weighted-{round(100 * share):03d}": (share, True) for share in shares}
    return weighted | {"multiscale-uniform-000": (0.0, False)}


def ranking_networks(dataset):
    """Networks that are trained by the ranking loss."""
    return ["single-scale-ranking", "deep-ranking", *sampled_networks(dataset)]


def networks_of_job(dataset, jobs):
    """Networks trained by the ranking loss that have a job each, or those of the sampling study that share one."""
    shared = (FINEGRAINED[dataset].get("sampling_study") or {}).get("jobs") == "study"
    sampled = list(sampled_networks(dataset)) if shared else []
    return sampled if jobs == "study" else [system for system in ranking_networks(dataset) if system not in sampled]


def jobs_of_networks(dataset):
    """Sizes of jobs that there are networks for."""
    return [jobs for jobs in ("network", "study") if networks_of_job(dataset, jobs)]


def triplet_systems(dataset):
    """Every system that is run on a data set, in the order of the tables."""
    learned = [] if no_training(dataset) else ["l1hashkpca", "oasis", "golden-features"]
    deep = (
        []
        if no_training(dataset) or no_torch(dataset)
        else ["convnet", *ranking_networks(dataset), *list(ON_VECTORS)[1:], EMBEDDED]
    )
    return [*HAND_CRAFTED, *learned, *deep]


def trained_networks(dataset):
    """Systems that are networks and are run."""
    networks = ["convnet", *ranking_networks(dataset), EMBEDDED]
    return [system for system in triplet_systems(dataset) if system in networks]


def network_below(wildcards):
    """What the network recorded whose vectors OASIS learns on; nothing where they are not a network's."""
    below = ON_VECTORS[wildcards.system]
    return f"{RESULTS}/systems/{below}/fit.json" if below in ranking_networks(wildcards.dataset) else []


def of_systems(name, systems=triplet_systems):
    """Input function of one file of every system."""
    return lambda wildcards: expand(f"{SYSTEM}/{name}", dataset=wildcards.dataset, system=systems(wildcards.dataset))


def chosen_percent(dataset):
    """Share of out-of-class negatives that networks of the tables are trained with."""
    return round(100 * sampling(dataset)["out_of_class"])


def asked_contrasts(wildcards):
    """Pairs of systems that the paper's claims are about."""
    return [
        list(pair) for pair in contrast_pairs(triplet_systems(wildcards.dataset), chosen_percent(wildcards.dataset))
    ]


def triplet_runs(dataset, file):
    """What the tables of metrics and of fits of a fine-grained study are gathered from."""
    if file == "metrics.parquet":
        return [f"results/{dataset}/triplet_metrics.parquet"]
    return expand(f"{SYSTEM}/{file}", dataset=dataset, system=triplet_systems(dataset))


def described_systems(wildcards):
    """Vectors of the hand-crafted features, by system."""
    return expand(f"{SYSTEM}/vectors.npy", dataset=wildcards.dataset, system=HAND_CRAFTED)


def sampling_of(wildcards):
    """How the triplets of a network, or of what else learns from them, are sampled."""
    return sampling(wildcards.dataset, wildcards.get("system"))


def sampling(dataset, system=None):
    """Settings of the sampler for a system."""
    sampler = FINEGRAINED[dataset]["sampler"]
    share, weighted = sampled_networks(dataset).get(system, (sampler["out_of_class"], True))
    return sampler | {"out_of_class": share if graded(dataset) else 1.0, "weighted": weighted}


def samplings_of_job(wildcards):
    """How the triplets of every network of a job are sampled, by system."""
    system = wildcards.get("system")
    systems = [system] if system else networks_of_job(wildcards.dataset, "study")
    return {system: sampling(wildcards.dataset, system) for system in systems}


def network_settings(*trainings):
    """Input function of what decides a network; how often it is saved, and how others are trained, does not."""
    others = {"pretraining", "ranking", "gap", "linear_embedding", "checkpoint_seconds", "threads"} - set(trainings)

    def kept(wildcards):
        study = FINEGRAINED[wildcards.dataset]
        validation = study["validation"] | {"sampling": sampling(wildcards.dataset)}
        return {key: value for key, value in study["network"].items() if key not in others} | {"validation": validation}

    return kept


def triplet_exhibit_files(dataset, paper=""):
    """Every file of a fine-grained study's exhibits, or of one paper's."""
    kinds = [
        (triplet_catalogue.TRIPLET_TABLES, TABLE_FILES),
        (triplet_catalogue.TRIPLET_FIGURES, FIGURE_FILES),
        (() if not_run(dataset) else triplet_catalogue.TRIPLET_PICTURES, PICTURE_FILES),
    ]
    return [
        f"results/{dataset}/exhibits/{name}{file}"
        for names, files in kinds
        for name in names
        if name.startswith(paper)
        for file in files
    ]


def triplet_numbers(wildcards):
    """What the tables and figures of a fine-grained study are drawn from, by name; nothing where it cannot be run."""
    dataset = wildcards.dataset
    if not_run(dataset):
        return {}
    made = {name: file for name, file in TRIPLET_NUMBER_FILES.items() if name != "curves" or trained_networks(dataset)}
    return made | {"pool": f"{RESULTS}/pool.parquet"}


def triplet_context_of(wildcards):
    """What the exhibits of a fine-grained study have to know besides the numbers."""
    dataset = wildcards.dataset
    data, study = DATASETS[dataset], FINEGRAINED[dataset]
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "not_run": not_run(dataset),
        "deep_not_run": no_torch(dataset),
        "learned_not_run": no_training(dataset),
        "systems": triplet_systems(dataset),
        "k": study["score"]["k"],
        "chosen_percent": chosen_percent(dataset),
    }


def describer_code(wildcards):
    """Fingerprint of the module that describes images for a hand-crafted baseline, which is found by its name."""
    described_by = DESCRIBERS[wildcards.system].partition(":")[0]
    return fingerprint(Path(*described_by.split(".")[1:]).with_suffix(".py"))


def picture_inputs(wildcards):
    """What the pictures of a fine-grained study are drawn from, by name; networks only where they are trained."""
    dataset = wildcards.dataset
    files = {
        name: f"{RESULTS}/{file}"
        for name, file in {
            "manifest": "manifest.parquet",
            "triplets": "triplets.parquet",
            "pairs": "pairs.parquet",
            "outcomes": "outcomes.parquet",
            "relevance": "relevance.npz",
        }.items()
    }
    if trained_networks(dataset):
        files |= {"filters": f"{RESULTS}/systems/deep-ranking/filters.npz"}
    ranked = [system for system in ("convnet", "oasis", "deep-ranking") if system in triplet_systems(dataset)]
    return files | {"distances": [f"{RESULTS}/systems/{system}/distances.npy" for system in ranked]}
