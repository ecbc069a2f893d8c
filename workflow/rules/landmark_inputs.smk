"""Inputs, outputs and settings of the landmark study that depend on the configuration, as functions."""

LANDMARK_RUN_FILES = ["model.npz", "model.json", "fit.json", "metrics.parquet", "ranks.npz"]


def learned_codebooks():
    """Codebooks that are learned here; the others come with the words that the benchmark publishes."""
    return [codebook for codebook, described in config["codebooks"].items() if not described["published"]]


def published_codebooks():
    """Codebooks whose words the benchmark publishes."""
    return [codebook for codebook in config["codebooks"] if codebook not in learned_codebooks()]


def ground_truth_folder(dataset):
    """Folder of a data set's ground-truth files, as far as it is known before the images are located."""
    data = DATASETS[dataset]
    if data["kind"] == "synthetic_landmarks":
        return f"results/{dataset}/ground_truth/{synthetic_spec(dataset).fingerprint()}"
    return data.get("ground_truth", "")


@cache
def landmarks_of(dataset):
    """Names of the landmarks that a data set's study learns.

    Where a user's own ground truth is away (an unmounted disk), those that its results were made with.
    """
    study, data = LANDMARK[dataset], DATASETS[dataset]
    if study["landmarks"] != "all":
        return study["landmarks"]
    if data["kind"] == "synthetic_landmarks":
        return synthetic_spec(dataset).landmark_names()
    learned = Path(f"results/{dataset}/learning_images.parquet")
    if Path(data["ground_truth"]).is_dir():
        try:
            return ground_truth.landmarks_with(data["ground_truth"], study["learning"]["positives"])
        except LookalikeError as error:
            raise WorkflowError(str(error))
    return sorted(set(read_table(learned)["landmark"])) if learned.is_file() else []


def located_data(wildcards):
    """What decides where the images and the ground truth of a data set are; its title does not."""
    data = DATASETS[wildcards.dataset]
    return {key: data[key] for key in ("kind", "path", "ground_truth", "fetch") if key in data}


def own_listing(key):
    """Input function of the fingerprint of a user's own folder, so that a change in it is noticed.

    A folder that is away keeps the one that its results were made with.
    """

    def listing(wildcards):
        data = DATASETS[wildcards.dataset]
        recorded = Path(f"results/{wildcards.dataset}/{key}_listing.txt")
        if data["kind"] != "landmarks":
            return ""
        if recorded.is_file() and not Path(data[key]).is_dir():
            return recorded.read_text().strip()
        return listing_fingerprint(data[key])

    return listing


def wants_words(dataset):
    """Whether a landmark study uses the words that the benchmark publishes."""
    return bool(set(LANDMARK[dataset]["codebooks"]) & set(published_codebooks()))


def training_settings(wildcards):
    """What decides a codebook; its title does not."""
    codebook = config["codebooks"][wildcards.representation]
    return {key: codebook[key] for key in ("words", "root", "iterations", "max_descriptors") if key in codebook}


def keypoint_shards(wildcards):
    """Every shard of the keypoints that a codebook is learned from."""
    keypoints = config["codebooks"][wildcards.representation]["keypoints"]
    return expand(
        f"{RESULTS}/keypoints/{{keypoints}}/keypoints-{{shard}}.npz",
        dataset=wildcards.dataset,
        keypoints=keypoints,
        shard=shards(wildcards.dataset),
    )


def keypoint_shard(wildcards):
    """The shard of keypoints that a shard of words is made from."""
    folder = f"results/{wildcards.dataset}/keypoints/{config['codebooks'][wildcards.representation]['keypoints']}"
    return f"{folder}/keypoints-{wildcards.shard}.npz"


def word_shards(wildcards):
    """Every shard of the words of a codebook."""
    return expand(f"{FEATURES}/words-{{shard}}.npz", shard=shards(wildcards.dataset), **wildcards)


def landmark_methods(dataset):
    """Methods of a landmark study that learn and rank."""
    study = LANDMARK[dataset]
    return [*study["methods"], *study["variants"]]


def landmark_methods_with_jobs(dataset, jobs):
    """Methods that run a job for every landmark, or one for all landmarks, as a wildcard constraint."""
    specs = {method: settings.method_spec(config, dataset, method) for method in landmark_methods(dataset)}
    return one_of(method for method, spec in specs.items() if spec["jobs"] == jobs)


def landmark_draws(dataset):
    """Numbers of the draws of learning images."""
    return range(LANDMARK[dataset]["learning"]["draws"])


def landmark_run_files(studied_dataset, landmark, files, **known):
    """Files of all draws of some landmarks, other wildcards left open unless they are known."""
    return expand(
        f"{RUN}/{{draw}}/{{file}}",
        subset=landmark,
        draw=landmark_draws(studied_dataset),
        file=files,
        allow_missing=True,
        **known,
    )


def landmark_runs(dataset, file):
    """One file of every run of a landmark study."""
    known = {"dataset": dataset, "representation": LANDMARK[dataset]["codebooks"], "method": landmark_methods(dataset)}
    return landmark_run_files(dataset, landmarks_of(dataset), [file], **known)


def landmarks_of_job(wildcards):
    """The landmarks that a job learns."""
    return [wildcards.subset] if "subset" in wildcards.keys() else landmarks_of(wildcards.dataset)


def sweep_specs(wildcards):
    """Settings of the methods whose regularisation is varied."""
    return {
        method: settings.method_spec(config, wildcards.dataset, method)
        for method in LANDMARK[wildcards.dataset]["sweep"]["methods"]
    }


def timed_specs(wildcards):
    """Settings of the methods that are timed on simulated rows, by number of words: those of a codebook of that size."""
    dataset = wildcards.dataset
    study = LANDMARK[dataset]
    codebooks = {config["codebooks"][codebook]["words"]: codebook for codebook in study["codebooks"]}
    return {
        words: {
            method: settings.method_spec(config, dataset, method, codebooks.get(words), words)
            for method in study["dimensions"]["methods"]
        }
        for words in study["dimensions"]["words"]
    }


def own_codebook_files(name):
    """Input function of one file of every codebook of a landmark study."""
    return lambda wildcards: expand(
        f"{FEATURES}/{name}", dataset=wildcards.dataset, representation=LANDMARK[wildcards.dataset]["codebooks"]
    )


def landmark_tables(dataset):
    """The tables of a landmark study, which depend on how many codebooks it has."""
    return landmark_catalogue.landmark_tables(len(LANDMARK[dataset]["codebooks"]))


def landmark_figures(dataset):
    """The figures that a landmark study has the numbers for."""
    study = LANDMARK[dataset]
    needs = {
        "landmark/time": "dimensions" in study,
        "landmark/sparsity": "sweep" in study,
        "landmark/montage": landmark_catalogue.montage_methods(study["methods"]) is not None,
    }
    return [figure for figure in landmark_catalogue.LANDMARK_FIGURES if needs[figure]]


def landmark_exhibit_files(dataset, paper=""):
    """Every file of a landmark study's exhibits, or of one paper's."""
    kinds = [(landmark_tables(dataset), TABLE_FILES), (landmark_figures(dataset), FIGURE_FILES)]
    return [
        f"results/{dataset}/exhibits/{name}{file}"
        for names, files in kinds
        for name in names
        if name.startswith(paper)
        for file in files
    ]


def table_numbers(wildcards):
    """What the tables of a landmark study are drawn from, by name; nothing where it cannot be run."""
    if not_run(wildcards.dataset):
        return {}
    timed = {"dimensions": f"{RESULTS}/dimensions.parquet"} if "dimensions" in LANDMARK[wildcards.dataset] else {}
    return timed | {"metrics": f"{RESULTS}/metrics.parquet", "fits": f"{RESULTS}/timing.parquet"}


def figure_numbers(wildcards):
    """What the figures of a landmark study are drawn from, by name."""
    dataset, study = wildcards.dataset, LANDMARK[wildcards.dataset]
    numbers = table_numbers(wildcards)
    shown = landmark_catalogue.montage_methods(study["methods"])
    if numbers and "sweep" in study:
        numbers["lambda_sweep"] = f"{RESULTS}/lambda_sweep.parquet"
    if numbers and shown:
        numbers |= {name: f"{RESULTS}/{name}.parquet" for name in ("manifest", "queries", "relevance")}
        numbers["images"] = f"{RESULTS}/images.json"
        known = {"dataset": dataset, "representation": study["codebooks"][-1], "method": shown}
        numbers["ranks"] = landmark_run_files(dataset, landmarks_of(dataset), ["ranks.npz"], **known)
    return numbers


def landmark_context(wildcards):
    """What the exhibits of a landmark study have to know besides the numbers."""
    dataset = wildcards.dataset
    study, data = LANDMARK[dataset], DATASETS[dataset]
    specs = {method: settings.method_spec(config, dataset, method) for method in landmark_methods(dataset)}
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "not_run": not_run(dataset).removeprefix("not run: "),
        "representations": {codebook: codebook_in_exhibit(codebook) for codebook in study["codebooks"]},
        "landmarks": landmarks_of(dataset),
        "methods": titles(study["methods"]),
        "variants": titles(study["variants"]),
        "notes": {method: spec["note"] for method, spec in specs.items() if spec.get("note")},
        **study["learning"],
        "regularization": {
            method: spec["parameters"]["regularization"]
            for method, spec in specs.items()
            if "regularization" in spec["parameters"]
        },
        "seed": SEED,
    }


def codebook_in_exhibit(codebook):
    """What an exhibit has to know about a codebook."""
    described = config["codebooks"][codebook]
    return {
        "words": described["words"],
        "title": described.get("title", f"{described['words']:,}"),
        "not_comparable": "RootSIFT" if described["root"] else "",
    }
