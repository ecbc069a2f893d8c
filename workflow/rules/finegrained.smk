"""The fine-grained study (Deep Ranking, CVPR 2014): from rated triplets of images to the paper's tables and figures.

Needs: a folder of rated triplets in place, a folder of class folders, or nothing (synthetic). Makes: manifest.parquet,
triplets.parquet, pool.parquet, relevance.npz, pairs.parquet, systems/ (what each row of the tables measures),
outcomes.parquet, intervals.parquet, contrasts.parquet, network_curves.parquet and exhibits/; metrics.parquet and
timing.parquet are gathered by the rules of category.smk.
"""


rule draw_triplet_images:
    output:
        f"{RESULTS}/drawn/{{shard}}.json",
    log:
        f"{LOGS}/draw_triplet_images/{{shard}}.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/images.yaml"
    params:
        settings=lambda wildcards: DATASETS[wildcards.dataset]["synthetic_triplets"],
        folder=lambda wildcards: drawn_folder(wildcards.dataset),
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/draw_triplet_images.py"


rule read_triplets:
    input:
        drawn=drawn_triplet_shards,
    output:
        manifest=f"{RESULTS}/manifest.parquet",
        triplets=f"{RESULTS}/triplets.parquet",
        rejected=f"{RESULTS}/rejected.csv",
        pool=f"{RESULTS}/pool.parquet",
        relevance=f"{RESULTS}/relevance.npz",
        pairs=f"{RESULTS}/pairs.parquet",
        listing=f"{RESULTS}/listing.txt",
    log:
        f"{LOGS}/read_triplets.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/images.yaml"
    threads: 8
    params:
        settings=triplet_settings_of,
        folder=lambda wildcards: triplets_folder(wildcards.dataset),
        listing=folder_listing,
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/read_triplets.py"


rule describe_images:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pairs=f"{RESULTS}/pairs.parquet",
        listing=f"{RESULTS}/listing.txt",
    output:
        [f"{SYSTEM}/{file}" for file in ("vectors.npy", "distances.npy", "fit.json")],
    log:
        f"{LOGS}/describe_images/{{system}}.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
        system=one_of(HAND_CRAFTED),
    conda:
        "../../envs/images.yaml"
    params:
        settings=lambda wildcards: FINEGRAINED[wildcards.dataset]["features"].get(wildcards.system, {}),
        describer=describer_code,
        folder=lambda wildcards: triplets_folder(wildcards.dataset),
        seed=SEED,
    script:
        "../scripts/describe_images.py"


rule learn_golden:
    input:
        relevance=f"{RESULTS}/relevance.npz",
        pairs=f"{RESULTS}/pairs.parquet",
        vectors=described_systems,
    output:
        distances=f"{RESULTS}/systems/golden-features/distances.npy",
        fit=f"{RESULTS}/systems/golden-features/fit.json",
    log:
        f"{LOGS}/learn_golden.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=lambda wildcards: FINEGRAINED[wildcards.dataset]["golden"],
        sampling=sampling_of,
        seed=SEED,
    script:
        "../scripts/learn_golden.py"


rule learn_l1hashkpca:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pairs=f"{RESULTS}/pairs.parquet",
        golden=f"{RESULTS}/systems/golden-features/fit.json",
        vectors=described_systems,
    output:
        [f"{RESULTS}/systems/l1hashkpca/{file}" for file in ("vectors.npy", "distances.npy", "fit.json")],
    log:
        f"{LOGS}/learn_l1hashkpca.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=lambda wildcards: FINEGRAINED[wildcards.dataset]["l1hashkpca"],
        seed=SEED,
    script:
        "../scripts/learn_l1hashkpca.py"


rule learn_oasis_on_vectors:
    input:
        relevance=f"{RESULTS}/relevance.npz",
        pairs=f"{RESULTS}/pairs.parquet",
        vectors=lambda wildcards: f"{RESULTS}/systems/{ON_VECTORS[wildcards.system]}/vectors.npy",
        network=network_below,
    output:
        [f"{SYSTEM}/{file}" for file in ("distances.npy", "fit.json")],
    log:
        f"{LOGS}/learn_oasis_on_vectors/{{system}}.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
        system=one_of(ON_VECTORS),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=lambda wildcards: FINEGRAINED[wildcards.dataset]["oasis"],
        sampling=sampling_of,
        seed=SEED,
    script:
        "../scripts/learn_oasis_on_vectors.py"


rule read_pixels:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        listing=f"{RESULTS}/listing.txt",
    output:
        f"{RESULTS}/pixels.npy",
    log:
        f"{LOGS}/read_pixels.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    priority: 1
    conda:
        "../../envs/deep.yaml"
    threads: 8
    params:
        folder=lambda wildcards: triplets_folder(wildcards.dataset),
        settings=lambda wildcards: {key: FINEGRAINED[wildcards.dataset]["network"][key] for key in ("size", "shift")},
    script:
        "../scripts/read_pixels.py"


rule pretrain_network:
    input:
        pixels=f"{RESULTS}/pixels.npy",
        relevance=f"{RESULTS}/relevance.npz",
        pairs=f"{RESULTS}/pairs.parquet",
    output:
        [f"{RESULTS}/systems/convnet/{file}" for file in NETWORK_FILES],
    log:
        f"{LOGS}/networks/convnet.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    priority: 1
    conda:
        "../../envs/deep.yaml"
    threads: lambda wildcards: FINEGRAINED[wildcards.dataset]["network"]["threads"]
    params:
        settings=network_settings("pretraining"),
        sampling=sampling_of,
        checkpoint_seconds=lambda wildcards: FINEGRAINED[wildcards.dataset]["network"]["checkpoint_seconds"],
        seed=SEED,
    script:
        "../scripts/pretrain_network.py"


# a network that was killed goes on from its checkpoint, which stands beside its files until they are there
for studied_dataset in FINEGRAINED:
    for job_size in jobs_of_networks(studied_dataset):

        rule:
            name:
                f"train_{job_size}_{studied_dataset}"
            input:
                pixels=f"{RESULTS}/pixels.npy",
                pretrained=f"{RESULTS}/systems/convnet/model.npz",
                relevance=f"{RESULTS}/relevance.npz",
                pairs=f"{RESULTS}/pairs.parquet",
            output:
                (
                    [f"{SYSTEM}/{file}" for file in NETWORK_FILES]
                    if job_size == "network"
                    else expand(
                        f"{SYSTEM}/{{file}}",
                        system=networks_of_job(studied_dataset, "study"),
                        file=NETWORK_FILES,
                        allow_missing=True,
                    )
                ),
            log:
                f"{LOGS}/networks/{{system}}.log" if job_size == "network" else f"{LOGS}/networks/sampling_study.log",
            wildcard_constraints:
                dataset=studied_dataset,
                system=one_of(networks_of_job(studied_dataset, job_size)),
            priority: 1
            conda:
                "../../envs/deep.yaml"
            threads: lambda wildcards: FINEGRAINED[wildcards.dataset]["network"]["threads"]
            params:
                settings=network_settings("ranking", "gap"),
                samplings=samplings_of_job,
                checkpoint_seconds=lambda wildcards: FINEGRAINED[wildcards.dataset]["network"]["checkpoint_seconds"],
                seed=SEED,
            script:
                "../scripts/train_networks.py"


rule train_linear_embedding:
    input:
        parts=[f"{RESULTS}/systems/{part}/vectors.npy" for part in ("single-scale-ranking", "l1hashkpca")],
        relevance=f"{RESULTS}/relevance.npz",
        pairs=f"{RESULTS}/pairs.parquet",
    output:
        [
            f"{RESULTS}/systems/{EMBEDDED}/{file}"
            for file in ("vectors.npy", "distances.npy", "curve.parquet", "fit.json")
        ],
    log:
        f"{LOGS}/networks/linear_embedding.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    priority: 1
    conda:
        "../../envs/deep.yaml"
    threads: lambda wildcards: FINEGRAINED[wildcards.dataset]["network"]["threads"]
    params:
        settings=network_settings("ranking", "gap", "linear_embedding"),
        sampling=sampling_of,
        seed=SEED,
    script:
        "../scripts/train_linear_embedding.py"


rule score_triplets:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        triplets=f"{RESULTS}/triplets.parquet",
        pairs=f"{RESULTS}/pairs.parquet",
        distances=of_systems("distances.npy"),
    output:
        outcomes=f"{RESULTS}/outcomes.parquet",
        intervals=f"{RESULTS}/intervals.parquet",
        contrasts=f"{RESULTS}/contrasts.parquet",
        metrics=f"{RESULTS}/triplet_metrics.parquet",
    log:
        f"{LOGS}/score_triplets.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=lambda wildcards: FINEGRAINED[wildcards.dataset]["score"],
        contrasts=asked_contrasts,
        seed=SEED,
    script:
        "../scripts/score_triplets.py"


rule gather_network_curves:
    input:
        curves=of_systems("curve.parquet", trained_networks),
    output:
        f"{RESULTS}/network_curves.parquet",
    log:
        f"{LOGS}/gather_network_curves.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_network_curves.py"


rule draw_triplet_exhibits:
    input:
        unpack(triplet_numbers),
        reference=RESOURCES / "reference-values.csv",
        claims=RESOURCES / "triplet-claims.csv",
    output:
        in_report(
            "finegrained",
            expand(
                f"{EXHIBITS}/{{name}}{{file}}",
                name=triplet_catalogue.TRIPLET_TABLES,
                file=TABLE_FILES,
                allow_missing=True,
            ),
        ),
        in_report(
            "finegrained",
            expand(
                f"{EXHIBITS}/{{name}}{{file}}",
                name=triplet_catalogue.TRIPLET_FIGURES,
                file=FIGURE_FILES,
                allow_missing=True,
            ),
        ),
    log:
        f"{LOGS}/exhibits/numbers.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=triplet_context_of,
        exhibits=[*triplet_catalogue.TRIPLET_TABLES, *triplet_catalogue.TRIPLET_FIGURES],
    script:
        "../scripts/draw_triplet_exhibits.py"


rule draw_triplet_pictures:
    input:
        unpack(picture_inputs),
    output:
        in_report(
            "finegrained",
            expand(
                f"{EXHIBITS}/{{name}}{{file}}",
                name=triplet_catalogue.TRIPLET_PICTURES,
                file=PICTURE_FILES,
                allow_missing=True,
            ),
        ),
    log:
        f"{LOGS}/exhibits/pictures.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=triplet_context_of,
        folder=lambda wildcards: triplets_folder(wildcards.dataset),
        sampling=sampling_of,
        seed=SEED,
    script:
        "../scripts/draw_triplet_pictures.py"


rule list_triplet_exhibits:
    input:
        unpack(triplet_numbers),
        exhibits=lambda wildcards: exhibit_files(wildcards.dataset),
        metrics=if_run(f"{RESULTS}/metrics.parquet"),
    output:
        index=f"{EXHIBITS}/index.md",
        headline=f"{EXHIBITS}/headline.txt",
    log:
        f"{LOGS}/exhibits/index.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=triplet_context_of,
    script:
        "../scripts/list_triplet_exhibits.py"
