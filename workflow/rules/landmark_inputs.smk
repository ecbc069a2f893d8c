"""Inputs, outputs and settings of the landmark study that depend on the configuration, as functions."""

LANDMARK_RUN_FILES = ["model.npz", "model.json", "fit.json", "metrics.parquet", "ranks.npz"]
TRUTH = [f"{RESULTS}/queries.parquet", f"{RESULTS}/relevance.parquet"]


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
    """Names of the landmarks that a data set's study learns."""
    asked = LANDMARK[dataset]["landmarks"]
    if asked != "all":
        return asked
    if DATASETS[dataset]["kind"] == "synthetic_landmarks":
        return synthetic_spec(dataset).landmark_names()
    if DATASETS[dataset]["kind"] == "landmarks" and not not_run(dataset):
        return ground_truth.landmarks_of(DATASETS[dataset]["ground_truth"])
    if DATASETS[dataset]["kind"] == "oxford5k":
        raise WorkflowError(
            f"config: landmark.{dataset}.landmarks must list the landmarks: before the ground truth is fetched "
            "nothing tells them"
        )
    return []


def truth_listing(wildcards):
    """Fingerprint of a user's own images and ground truth, so that a change in either scans them again."""
    data = DATASETS[wildcards.dataset]
    recorded = Path(f"results/{wildcards.dataset}/listing.txt")
    if data["kind"] != "landmarks":
        return ""
    if recorded.is_file() and not (Path(data["path"]).is_dir() and Path(data["ground_truth"]).is_dir()):
        return recorded.read_text().strip()
    return f"{listing_fingerprint(data['path'])} {listing_fingerprint(data['ground_truth'])}"


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
    """Settings of the methods that are timed on simulated rows."""
    dataset = wildcards.dataset
    return {
        method: settings.method_spec(config, dataset, method)
        for method in LANDMARK[dataset].get("dimensions", {}).get("methods", [])
    }


def own_codebook_files(name):
    """Input function of one file of every codebook of a landmark study."""
    return lambda wildcards: expand(
        f"{FEATURES}/{name}", dataset=wildcards.dataset, representation=LANDMARK[wildcards.dataset]["codebooks"]
    )


def compiled_of(methods):
    """Markers of the compiled kernels of some methods' learners."""
    return sorted({marker for method in methods for marker in compiled(learner_file(method))})


def landmark_tables(dataset):
    """The tables of a landmark study, which depend on how many codebooks it has."""
    return landmark_catalogue.landmark_tables(len(LANDMARK[dataset]["codebooks"]))


def landmark_figures(dataset):
    """The figures that a landmark study has the numbers for; that of the images needs the images."""
    study = LANDMARK[dataset]
    needs = {
        "landmark/time": "dimensions" in study,
        "landmark/sparsity": "sweep" in study,
        "landmark/montage": not not_run(dataset),
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


def montage_method(dataset):
    """The learned method whose results are shown beside those of TF-IDF."""
    methods = [method for method in LANDMARK[dataset]["methods"] if method != "tfidf"]
    return "soml-da" if "soml-da" in methods else methods[-1]


def landmark_numbers(dataset, kind):
    """Input function of what the tables or the figures of a landmark study are drawn from, by name."""
    study, can_run = LANDMARK[dataset], not not_run(dataset)
    timed = {"dimensions": f"{RESULTS}/dimensions.parquet"} if "dimensions" in study else {}
    run = {"metrics": f"{RESULTS}/metrics.parquet", "fits": f"{RESULTS}/timing.parquet"} if can_run else {}
    if kind == "tables":
        return run | timed
    if not can_run:
        return timed
    swept = {"lambda_sweep": f"{RESULTS}/lambda_sweep.parquet"} if "sweep" in study else {}
    pictures = {name: f"{RESULTS}/{name}.parquet" for name in ("manifest", "queries", "relevance")}
    shown = {
        "representation": study["codebooks"][-1],
        "method": [method for method in ("tfidf", montage_method(dataset)) if method in study["methods"]],
    }
    ranks = landmark_run_files(dataset, landmarks_of(dataset), ["ranks.npz"], **shown)
    return run | timed | swept | pictures | {"images": f"{RESULTS}/images.json", "ranks": ranks}


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
