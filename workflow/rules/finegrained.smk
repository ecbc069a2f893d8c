"""The fine-grained study (Deep Ranking, CVPR 2014): from rated triplets of images to its numbers.

Needs: a folder of rated triplets in place, a folder of class folders, or nothing (synthetic). Makes: manifest.parquet,
triplets.parquet, ratings.parquet, pool.parquet, relevance.npz, pairs.parquet, systems/ (what each row of the tables measures),
outcomes.parquet, contrasts.parquet, finegrained/metrics.parquet and finegrained/timing.parquet.
"""

from functools import reduce
from operator import getitem

from lookalike.studies.finegrained import plan as finegrained
from lookalike.studies.finegrained.systems import EMBEDDED, EMBEDDING_ON_TOP, OASIS_ON_TOP, SINGLE
from lookalike.studies.finegrained.systems import FEATURES as HAND_CRAFTED

# conda environments have torch
deployed = {str(method).rpartition(".")[2].lower() for method in workflow.deployment_settings.deployment_method}
config["conda"] = "conda" in deployed


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
        folder=planned(finegrained.images_folder),
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/draw_triplet_images.py"


rule read_triplets:
    input:
        drawn=planned(finegrained.drawn_shards),
    output:
        manifest=f"{RESULTS}/manifest.parquet",
        triplets=f"{RESULTS}/triplets.parquet",
        ratings=f"{RESULTS}/ratings.parquet",
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
    threads: reading_threads
    params:
        settings=planned(finegrained.triplet_settings),
        folder=planned(finegrained.images_folder),
        ratings=planned(finegrained.share_of_ratings),
        listing=folder_listing,
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/read_triplets.py"


for studied_dataset in FINEGRAINED:
    batch = finegrained.feature_batch(config, studied_dataset)

    rule:
        name:
            f"describe_images_{studied_dataset}"
        input:
            manifest=f"{RESULTS}/manifest.parquet",
            pairs=f"{RESULTS}/pairs.parquet",
            listing=f"{RESULTS}/listing.txt",
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
        conda:
            "../../envs/images.yaml"
        params:
            settings=of_batch(batch, finegrained.feature_settings),
            describers=describers_of(batch),
            folder=planned(finegrained.images_folder),
            seed=SEED,
        script:
            "../scripts/describe_images.py"


for studied_dataset in FINEGRAINED:

    rule:
        name:
            f"learn_on_features_{studied_dataset}"
        input:
            manifest=f"{RESULTS}/manifest.parquet",
            relevance=f"{RESULTS}/relevance.npz",
            ratings=f"{RESULTS}/ratings.parquet",
            pairs=f"{RESULTS}/pairs.parquet",
            vectors=[f"{RESULTS}/systems/{feature}/vectors.npy" for feature in HAND_CRAFTED],
        output:
            finegrained.learned_files(config, studied_dataset),
        log:
            f"{LOGS}/learn_on_features.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        conda:
            "../../envs/learning.yaml"
        params:
            golden=of_section("golden"),
            l1hashkpca=of_section("l1hashkpca"),
            oasis=of_section("oasis"),
            sampling=planned(finegrained.sampling),
            buffers=planned(finegrained.buffers),
            seed=SEED,
        script:
            "../scripts/learn_on_features.py"


rule learn_oasis_on_network:
    input:
        relevance=planned(finegrained.relevance_path),
        pairs=f"{RESULTS}/pairs.parquet",
        vectors=f"{RESULTS}/systems/{SINGLE}/vectors.npy",
        network=f"{RESULTS}/systems/{SINGLE}/fit.json",
    output:
        [f"{RESULTS}/systems/{OASIS_ON_TOP}/{file}" for file in ("distances.npy", "fit.json")],
    log:
        f"{LOGS}/learn_oasis_on_network.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=of_section("oasis"),
        sampling=planned(finegrained.sampling),
        seed=SEED,
    script:
        "../scripts/learn_oasis_on_network.py"


rule pretrain_network:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        listing=f"{RESULTS}/listing.txt",
        relevance=planned(finegrained.relevance_path),
        pairs=f"{RESULTS}/pairs.parquet",
    output:
        [f"{RESULTS}/systems/convnet/{file}" for file in finegrained.NETWORK_FILES],
        pixels=f"{RESULTS}/pixels.npy",
    log:
        f"{LOGS}/networks/convnet.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    priority: 1
    conda:
        "../../envs/deep.yaml"
    threads: of_section("network", "threads")
    params:
        folder=planned(finegrained.images_folder),
        settings=planned(finegrained.network_settings, ["pretraining"]),
        sampling=planned(finegrained.sampling),
        checkpoint_seconds=of_section("network", "checkpoint_seconds"),
        seed=SEED,
    script:
        "../scripts/pretrain_network.py"


# a killed network continues from its checkpoint, which is removed when its files are complete
for studied_dataset in FINEGRAINED:
    batch = finegrained.network_batch(config, studied_dataset)

    rule:
        name:
            f"train_networks_{studied_dataset}"
        input:
            pixels=f"{RESULTS}/pixels.npy",
            pretrained=f"{RESULTS}/systems/convnet/model.lookalike",
            relevance=planned(finegrained.relevance_path),
            pairs=f"{RESULTS}/pairs.parquet",
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
        priority: 1
        conda:
            "../../envs/deep.yaml"
        threads: of_section("network", "threads")
        params:
            settings=planned(finegrained.network_settings, ["ranking", "gap"]),
            samplings=of_batch(batch, finegrained.samplings),
            checkpoint_seconds=of_section("network", "checkpoint_seconds"),
            seed=SEED,
        script:
            "../scripts/train_networks.py"


rule train_linear_embedding:
    input:
        parts=[f"{RESULTS}/systems/{part}/vectors.npy" for part in (SINGLE, EMBEDDED)],
        relevance=planned(finegrained.relevance_path),
        pairs=f"{RESULTS}/pairs.parquet",
    output:
        [
            f"{RESULTS}/systems/{EMBEDDING_ON_TOP}/{file}"
            for file in ("vectors.npy", "distances.npy", "curve.parquet", "fit.json")
        ],
    log:
        f"{LOGS}/networks/linear_embedding.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    priority: 1
    conda:
        "../../envs/deep.yaml"
    threads: of_section("network", "threads")
    params:
        settings=planned(finegrained.network_settings, ["ranking", "gap", "linear_embedding"]),
        sampling=planned(finegrained.sampling),
        seed=SEED,
    script:
        "../scripts/train_linear_embedding.py"


rule score_triplets:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        triplets=f"{RESULTS}/triplets.parquet",
        pairs=f"{RESULTS}/pairs.parquet",
        distances=planned(finegrained.measured_files, "distances.npy"),
        fits=planned(finegrained.measured_files, "fit.json"),
        curves=planned(finegrained.curve_files),
    output:
        outcomes=f"{RESULTS}/outcomes.parquet",
        contrasts=f"{RESULTS}/contrasts.parquet",
        metrics=f"{RESULTS}/finegrained/metrics.parquet",
        fits=f"{RESULTS}/finegrained/timing.parquet",
    log:
        f"{LOGS}/score_triplets.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=of_section("score"),
        contrasts=planned(finegrained.contrasts),
        seed=SEED,
    script:
        "../scripts/score_triplets.py"
