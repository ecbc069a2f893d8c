"""The landmark study (SOML, AAAI 2014): from images with ground truth to a metric for every landmark, and its numbers.

Needs: the archives or folders of a data set in place, the network, or nothing (synthetic, published counts). Makes:
manifest.parquet, queries.parquet, relevance.parquet, keypoints/, features/ (codebooks, words, counts), published/,
learning_images.parquet, runs/, and the rows of results in results.parquet and times.parquet.
studies/landmark/study.py says which settings each job reads.
"""


rule scan_landmarks:
    input:
        painted=lambda wildcards: LANDMARK[wildcards.dataset].painted(),
        archives=RESOURCES / "archives.yaml",
    output:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
        listing=f"{RESULTS}/path_listing.txt",
    log:
        f"{LOGS}/scan_landmarks.log",
    wildcard_constraints:
        dataset=one_of(PHOTOGRAPHED),
    conda:
        "../../envs/images.yaml"
    threads: reading_threads
    params:
        settings=settings_for(LANDMARK, "scan_landmarks"),
        listing=lambda wildcards: LANDMARK[wildcards.dataset].listing("path"),
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
        learning_images=f"{RESULTS}/learning_images.parquet",
        listing=f"{RESULTS}/ground_truth_listing.txt",
    log:
        f"{LOGS}/read_ground_truth.log",
    wildcard_constraints:
        dataset=one_of(set(PHOTOGRAPHED) - set(QUERIES_DRAWN)),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(LANDMARK, "read_ground_truth"),
        listing=lambda wildcards: LANDMARK[wildcards.dataset].listing("ground_truth"),
    script:
        "../scripts/read_ground_truth.py"


rule pick_queries:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        queries=f"{RESULTS}/queries.parquet",
        relevance=f"{RESULTS}/relevance.parquet",
        learning_images=f"{RESULTS}/learning_images.parquet",
    log:
        f"{LOGS}/pick_queries.log",
    wildcard_constraints:
        dataset=one_of(set(PHOTOGRAPHED) & set(QUERIES_DRAWN)),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(LANDMARK, "pick_queries"),
    script:
        "../scripts/pick_queries.py"


# of published counts a query is a whole image
for studied_dataset in [dataset for dataset in LANDMARK if dataset not in PHOTOGRAPHED]:
    codebook = LANDMARK[studied_dataset].codebooks[0]

    rule:
        name:
            f"read_visterms_{studied_dataset}"
        input:
            shipped_files(studied_dataset, VISTERM_FILES),
        output:
            manifest=f"{RESULTS}/manifest.parquet",
            pool=f"{RESULTS}/codebook_pool.parquet",
            queries=f"{RESULTS}/queries.parquet",
            relevance=f"{RESULTS}/relevance.parquet",
            learning_images=f"{RESULTS}/learning_images.parquet",
            counts=f"{RESULTS}/features/{codebook}/counts.npz",
            query_counts=f"{RESULTS}/features/{codebook}/query_counts.npz",
        log:
            f"{LOGS}/read_visterms.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        conda:
            "../../envs/learning.yaml"
        params:
            settings=settings_for(LANDMARK, "pick_queries"),
            folder=lambda wildcards: SETTINGS.datasets[wildcards.dataset].path,
            words=SETTINGS.codebooks[codebook].words,
        script:
            "../scripts/read_landmark_visterms.py"


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
        settings=settings_for(LANDMARK, "extract_keypoints"),
    script:
        "../scripts/extract_keypoints.py"


# a killed run continues from its checkpoint, which is removed when the codebook is complete
rule train_words:
    input:
        keypoints=lambda wildcards: LANDMARK[wildcards.dataset].keypoint_shards(wildcards.representation),
    output:
        f"{FEATURES}/codebook.npy",
    log:
        f"{LOGS}/train_words/{{representation}}.log",
    wildcard_constraints:
        representation=one_of(CODEBOOKS[False]),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(LANDMARK, "train_words"),
    script:
        "../scripts/train_words.py"


rule assign_words:
    input:
        keypoints=lambda wildcards: LANDMARK[wildcards.dataset].keypoint_shard(
            wildcards.representation, wildcards.shard
        ),
        codebook=f"{FEATURES}/codebook.npy",
    output:
        f"{FEATURES}/words-{{shard}}.npz",
    log:
        f"{LOGS}/assign_words/{{representation}}/{{shard}}.log",
    wildcard_constraints:
        representation=one_of(CODEBOOKS[False]),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(LANDMARK, "assign_words"),
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
        representation=one_of(CODEBOOKS[True]),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(LANDMARK, "read_published_words"),
    script:
        "../scripts/read_published_words.py"


rule count_words:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        queries=f"{RESULTS}/queries.parquet",
        words=lambda wildcards: LANDMARK[wildcards.dataset].word_shards(wildcards.representation),
    output:
        counts=f"{FEATURES}/counts.npz",
        query_counts=f"{FEATURES}/query_counts.npz",
    log:
        f"{LOGS}/count_words/{{representation}}.log",
    wildcard_constraints:
        dataset=one_of(PHOTOGRAPHED),
        representation=one_of(SETTINGS.codebooks),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(LANDMARK, "count_words"),
    script:
        "../scripts/count_words.py"


rule publish_words:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        counts=f"{FEATURES}/counts.npz",
    output:
        manifest=f"{RESULTS}/published/{{representation}}/manifest.csv",
        counts=f"{RESULTS}/published/{{representation}}/counts.npz",
    log:
        f"{LOGS}/publish_words/{{representation}}.log",
    wildcard_constraints:
        dataset=one_of(PHOTOGRAPHED),
        representation=one_of(SETTINGS.codebooks),
    conda:
        "../../envs/images.yaml"
    script:
        "../scripts/publish_words.py"


# The setting `batch` says how many fits a job makes. A table shows their times: with --resources exclusive=1, only one
# job that learns runs at a time
for study in LANDMARK.values():
    for batch in study.batches():

        rule:
            name:
                f"run_{batch.name}_{study.dataset}"
            input:
                counts=f"{study.folder}/features/{{representation}}/counts.npz",
                query_counts=f"{study.folder}/features/{{representation}}/query_counts.npz",
                queries=f"{study.folder}/queries.parquet",
                relevance=f"{study.folder}/relevance.parquet",
                manifest=f"{study.folder}/manifest.parquet",
                learning_images=f"{study.folder}/learning_images.parquet",
            output:
                batch.files,
            log:
                batch.log,
            wildcard_constraints:
                **constraints_of(batch),
            priority: 1
            conda:
                "../../envs/learning.yaml"
            resources:
                exclusive=1,
            params:
                settings=settings_of(study, "run", batch),
                learners=learners_of(batch),
            script:
                "../scripts/run_landmarks.py"


rule measure_lead:
    input:
        counts=f"{FEATURES}/counts.npz",
        query_counts=f"{FEATURES}/query_counts.npz",
        queries=f"{RESULTS}/queries.parquet",
        relevance=f"{RESULTS}/relevance.parquet",
        manifest=f"{RESULTS}/manifest.parquet",
        learning_images=f"{RESULTS}/learning_images.parquet",
    output:
        f"{RESULTS}/landmark/lead/{{representation}}.parquet",
    log:
        f"{LOGS}/measure_lead/{{representation}}.log",
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(LANDMARK, "measure_lead"),
        learners=lambda wildcards: learner_code(*LANDMARK[wildcards.dataset].lead_methods),
    script:
        "../scripts/measure_lead.py"


rule gather_landmark_results:
    input:
        runs=lambda wildcards: LANDMARK[wildcards.dataset].runs("results.parquet"),
        fits=lambda wildcards: LANDMARK[wildcards.dataset].runs("fit.json"),
        lead=lambda wildcards: LANDMARK[wildcards.dataset].lead_files(),
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        results=f"{RESULTS}/results.parquet",
        times=f"{RESULTS}/times.parquet",
    log:
        f"{LOGS}/gather_landmark_results.log",
    wildcard_constraints:
        dataset=one_of(LANDMARK),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(LANDMARK, "gather_results"),
    script:
        "../scripts/gather_landmark_results.py"
