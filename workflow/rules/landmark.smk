"""The landmark study (SOML, AAAI 2014): from images with ground truth to a metric for every landmark, and its numbers.

Needs: the archives or folders of a data set in place, the network, or nothing (synthetic). Makes: manifest.parquet,
queries.parquet, relevance.parquet, keypoints/, features/ (codebooks, words, counts), learning_images.parquet, runs/,
and the tables that exhibits are drawn from: landmark/metrics.parquet, landmark/timing.parquet and dimensions.parquet.
What the settings ask for is in studies/landmark/plan.py.
"""


rule draw_landmarks:
    output:
        f"{RESULTS}/drawn/{{shard}}.json",
    log:
        f"{LOGS}/draw_landmarks/{{shard}}.log",
    wildcard_constraints:
        dataset=one_of(LANDMARK),
    conda:
        "../../envs/images.yaml"
    params:
        settings=lambda wildcards: DATASETS[wildcards.dataset]["synthetic_landmarks"],
        folder=planned(painted_folder),
        ground_truth=lambda wildcards: landmark.ground_truth_folder(config, wildcards.dataset),
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/draw_landmarks.py"


rule locate_landmarks:
    input:
        drawn=lambda wildcards: (
            expand(f"{RESULTS}/drawn/{{shard}}.json", dataset=wildcards.dataset, shard=shards(wildcards.dataset))
            if DATASETS[wildcards.dataset]["kind"] == "synthetic_landmarks"
            else []
        ),
        archives=RESOURCES / "archives.yaml",
    output:
        f"{RESULTS}/images.json",
    log:
        f"{LOGS}/locate_landmarks.log",
    wildcard_constraints:
        dataset=one_of(LANDMARK),
    conda:
        "../../envs/images.yaml"
    params:
        data=lambda wildcards: landmark.located_data(config, wildcards.dataset),
        drawn_folder=lambda wildcards: (
            painted_folder(config, wildcards.dataset) if wildcards.dataset in studied(True) else ""
        ),
        ground_truth=lambda wildcards: landmark.ground_truth_folder(config, wildcards.dataset),
        wants_words=lambda wildcards: landmark.wants_words(config, wildcards.dataset),
    script:
        "../scripts/locate_landmarks.py"


rule scan_landmarks:
    input:
        images=f"{RESULTS}/images.json",
    output:
        manifest=f"{RESULTS}/manifest.parquet",
        listing=f"{RESULTS}/path_listing.txt",
    log:
        f"{LOGS}/scan_landmarks.log",
    wildcard_constraints:
        dataset=one_of(LANDMARK),
    conda:
        "../../envs/images.yaml"
    threads: reading_threads
    params:
        listing=lambda wildcards: landmark.own_listing(config, wildcards.dataset, "path"),
    script:
        "../scripts/scan_landmarks.py"


# separate from the scan, so that a corrected line of the ground truth extracts no keypoints again
rule read_ground_truth:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        queries=f"{RESULTS}/queries.parquet",
        relevance=f"{RESULTS}/relevance.parquet",
        listing=f"{RESULTS}/ground_truth_listing.txt",
    log:
        f"{LOGS}/read_ground_truth.log",
    conda:
        "../../envs/images.yaml"
    params:
        listing=lambda wildcards: landmark.own_listing(config, wildcards.dataset, "ground_truth"),
    script:
        "../scripts/read_ground_truth.py"


rule extract_keypoints:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        f"{RESULTS}/keypoints/{{keypoints}}/keypoints-{{shard}}.npz",
    log:
        f"{LOGS}/extract_keypoints/{{keypoints}}/{{shard}}.log",
    conda:
        "../../envs/images.yaml"
    params:
        settings=lambda wildcards: config["keypoints"][wildcards.keypoints],
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
    script:
        "../scripts/extract_keypoints.py"


# a killed run continues from its checkpoint, which is removed when the codebook is complete
rule train_words:
    input:
        keypoints=lambda wildcards: landmark.keypoint_shards(config, wildcards.dataset, wildcards.representation),
    output:
        f"{FEATURES}/codebook.npy",
    log:
        f"{LOGS}/train_words/{{representation}}.log",
    wildcard_constraints:
        representation=one_of(landmark.codebooks(config, published=False)),
    conda:
        "../../envs/images.yaml"
    params:
        codebook=lambda wildcards: landmark.training_settings(config, wildcards.representation),
        seed=SEED,
    script:
        "../scripts/train_words.py"


rule assign_words:
    input:
        keypoints=lambda wildcards: landmark.keypoint_shard(
            config, wildcards.dataset, wildcards.representation, wildcards.shard
        ),
        codebook=f"{FEATURES}/codebook.npy",
    output:
        f"{FEATURES}/words-{{shard}}.npz",
    log:
        f"{LOGS}/assign_words/{{representation}}/{{shard}}.log",
    wildcard_constraints:
        representation=one_of(landmark.codebooks(config, published=False)),
    conda:
        "../../envs/images.yaml"
    params:
        root=lambda wildcards: config["codebooks"][wildcards.representation]["root"],
    script:
        "../scripts/assign_words.py"


rule read_published_words:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        f"{FEATURES}/words-{{shard}}.npz",
    log:
        f"{LOGS}/read_published_words/{{representation}}/{{shard}}.log",
    wildcard_constraints:
        representation=one_of(landmark.codebooks(config, published=True)),
    conda:
        "../../envs/images.yaml"
    params:
        words=lambda wildcards: config["codebooks"][wildcards.representation]["words"],
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
    script:
        "../scripts/read_published_words.py"


rule count_words:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        queries=f"{RESULTS}/queries.parquet",
        words=lambda wildcards: landmark.word_shards(config, wildcards.dataset, wildcards.representation),
    output:
        counts=f"{FEATURES}/counts.npz",
        query_counts=f"{FEATURES}/query_counts.npz",
    log:
        f"{LOGS}/count_words/{{representation}}.log",
    wildcard_constraints:
        representation=one_of(config["codebooks"]),
    conda:
        "../../envs/images.yaml"
    params:
        words=lambda wildcards: config["codebooks"][wildcards.representation]["words"],
    script:
        "../scripts/count_words.py"


rule draw_learning_images:
    input:
        queries=f"{RESULTS}/queries.parquet",
        relevance=f"{RESULTS}/relevance.parquet",
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        f"{RESULTS}/learning_images.parquet",
    log:
        f"{LOGS}/draw_learning_images.log",
    conda:
        "../../envs/learning.yaml"
    params:
        landmarks=lambda wildcards: landmark.landmarks_of(config, wildcards.dataset),
        learning=lambda wildcards: LANDMARK[wildcards.dataset]["learning"],
        seed=SEED,
    script:
        "../scripts/draw_learning_images.py"


# The setting `batch` says how many fits a job makes. A table shows their times: with --resources exclusive=1, only one
# job that learns runs at a time
for studied_dataset in LANDMARK:
    for batch in landmark.batches(config, studied_dataset):

        rule:
            name:
                f"run_{batch.name}_{studied_dataset}"
            input:
                counts=f"{FEATURES}/counts.npz",
                query_counts=f"{FEATURES}/query_counts.npz",
                queries=f"{RESULTS}/queries.parquet",
                relevance=f"{RESULTS}/relevance.parquet",
                manifest=f"{RESULTS}/manifest.parquet",
                learning_images=f"{RESULTS}/learning_images.parquet",
            output:
                batch.files,
            log:
                batch.log,
            wildcard_constraints:
                **constraints_of(batch),
            conda:
                "../../envs/learning.yaml"
            resources:
                exclusive=1,
            params:
                specs=specs_of(batch),
                learners=learners_of(batch),
                seed=SEED,
            script:
                "../scripts/run_landmarks.py"


rule sweep_settings:
    input:
        counts=lambda wildcards: landmark.codebook_files(config, wildcards.dataset, "counts.npz"),
        query_counts=lambda wildcards: landmark.codebook_files(config, wildcards.dataset, "query_counts.npz"),
        queries=f"{RESULTS}/queries.parquet",
        relevance=f"{RESULTS}/relevance.parquet",
        manifest=f"{RESULTS}/manifest.parquet",
        learning_images=f"{RESULTS}/learning_images.parquet",
    output:
        f"{RESULTS}/landmark/sweep.parquet",
    log:
        f"{LOGS}/sweep_settings.log",
    conda:
        "../../envs/learning.yaml"
    params:
        codebooks=lambda wildcards: LANDMARK[wildcards.dataset]["codebooks"],
        landmarks=lambda wildcards: landmark.landmarks_of(config, wildcards.dataset),
        sweeps=lambda wildcards: landmark.sweeps(config, wildcards.dataset),
        specs=lambda wildcards: landmark.sweep_specs(config, wildcards.dataset),
        learners=lambda wildcards: learner_code(*landmark.sweep_specs(config, wildcards.dataset)),
        seed=SEED,
    script:
        "../scripts/sweep_settings.py"


rule time_dimensions:
    output:
        f"{RESULTS}/dimensions.parquet",
    log:
        f"{LOGS}/time_dimensions.log",
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        settings=lambda wildcards: LANDMARK[wildcards.dataset]["dimensions"],
        learning=lambda wildcards: LANDMARK[wildcards.dataset]["learning"],
        specs=lambda wildcards: landmark.timed_specs(config, wildcards.dataset),
        learners=lambda wildcards: learner_code(*LANDMARK[wildcards.dataset]["dimensions"]["methods"]),
        seed=SEED,
    script:
        "../scripts/time_dimensions.py"


rule gather_landmark_numbers:
    input:
        metrics=lambda wildcards: landmark.number_files(config, wildcards.dataset),
        fits=lambda wildcards: landmark.runs(config, wildcards.dataset, "fit.json"),
    output:
        metrics=f"{RESULTS}/landmark/metrics.parquet",
        fits=f"{RESULTS}/landmark/timing.parquet",
    log:
        f"{LOGS}/gather_landmark_numbers.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_numbers.py"
