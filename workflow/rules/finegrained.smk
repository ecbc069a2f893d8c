"""The fine-grained study (Deep Ranking, CVPR 2014): from rated triplets of images to its numbers.

Needs: a folder of rated triplets in place, a folder of class folders, or nothing (synthetic). Makes: manifest.parquet,
triplets.parquet, ratings.parquet, pool.parquet, relevance.npz, pairs.parquet, systems/ (what each row of the tables measures),
outcomes.parquet and results.parquet, the one table of numbers.
"""

from lookalike.studies.finegrained.study import describer_module
from lookalike.studies.finegrained.systems import CONVNET, EMBEDDED, EMBEDDING_ON_TOP, OASIS_ON_TOP, SINGLE
from lookalike.studies.finegrained.systems import FEATURES as HAND_CRAFTED

deployed = {str(method).rpartition(".")[2].lower() for method in workflow.deployment_settings.deployment_method}
for study in FINEGRAINED.values():
    study.deployed(conda="conda" in deployed)


rule read_triplets:
    input:
        painted=lambda wildcards: FINEGRAINED[wildcards.dataset].painted(),
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
        settings=settings_for(FINEGRAINED, "read_triplets"),
        listing=folder_listing,
    script:
        "../scripts/read_triplets.py"


for study in FINEGRAINED.values():
    batch = study.feature_batch()

    rule:
        name:
            f"describe_images_{study.dataset}"
        input:
            manifest=f"{study.folder}/manifest.parquet",
            pairs=f"{study.folder}/pairs.parquet",
            ratings=f"{study.folder}/ratings.parquet",
            listing=f"{study.folder}/listing.txt",
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
        conda:
            "../../envs/images.yaml"
        params:
            settings=settings_of(study, "describe_images", batch),
            describers=describers_of(batch),
        script:
            "../scripts/describe_images.py"


for studied_dataset, study in FINEGRAINED.items():

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
            study.learned_files(),
        log:
            f"{LOGS}/learn_on_features.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        conda:
            "../../envs/learning.yaml"
        params:
            settings=settings_for(FINEGRAINED, "learn_on_features"),
        script:
            "../scripts/learn_on_features.py"


for studied_dataset, study in FINEGRAINED.items():

    rule:
        name:
            f"learn_oasis_on_network_{studied_dataset}"
        input:
            relevance=lambda wildcards: FINEGRAINED[wildcards.dataset].relevance_path(),
            pairs=f"{RESULTS}/pairs.parquet",
            vectors=lambda wildcards: FINEGRAINED[wildcards.dataset].files_of(SINGLE, file="vectors.npy"),
            networks=lambda wildcards: FINEGRAINED[wildcards.dataset].files_of(SINGLE, file="fit.json"),
        output:
            study.files_of(OASIS_ON_TOP, dataset="{dataset}"),
        log:
            f"{LOGS}/learn_oasis_on_network.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        conda:
            "../../envs/learning.yaml"
        params:
            settings=settings_for(FINEGRAINED, "learn_oasis_on_network"),
        script:
            "../scripts/learn_oasis_on_network.py"


for studied_dataset, study in FINEGRAINED.items():

    rule:
        name:
            f"pretrain_network_{studied_dataset}"
        input:
            manifest=f"{RESULTS}/manifest.parquet",
            listing=f"{RESULTS}/listing.txt",
            relevance=lambda wildcards: FINEGRAINED[wildcards.dataset].relevance_path(),
            pairs=f"{RESULTS}/pairs.parquet",
        output:
            study.files_of(CONVNET, dataset="{dataset}"),
            pixels=f"{RESULTS}/pixels.npy",
        log:
            f"{LOGS}/networks/convnet.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        priority: 1
        conda:
            "../../envs/deep.yaml"
        threads: lambda wildcards: FINEGRAINED[wildcards.dataset].networks.threads
        params:
            settings=settings_for(FINEGRAINED, "pretrain_network"),
        script:
            "../scripts/pretrain_network.py"


# a killed network continues from its checkpoint, which is removed when its files are complete
for study, batch in [(study, batch) for study in FINEGRAINED.values() for batch in study.network_batches()]:

    rule:
        name:
            f"{batch.name}_{study.dataset}"
        input:
            pixels=f"{study.folder}/pixels.npy",
            pretrained=study.files_of(CONVNET, file="model.lookalike"),
            relevance=study.relevance_path(),
            pairs=f"{study.folder}/pairs.parquet",
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
        priority: 1
        conda:
            "../../envs/deep.yaml"
        threads: study.networks.threads
        params:
            settings=settings_of(study, "train_networks", batch),
        script:
            "../scripts/train_networks.py"


for studied_dataset, study in FINEGRAINED.items():

    rule:
        name:
            f"train_linear_embedding_{studied_dataset}"
        input:
            networks=lambda wildcards: FINEGRAINED[wildcards.dataset].files_of(SINGLE, file="vectors.npy"),
            features=f"{RESULTS}/systems/{EMBEDDED}/vectors.npy",
            relevance=lambda wildcards: FINEGRAINED[wildcards.dataset].relevance_path(),
            pairs=f"{RESULTS}/pairs.parquet",
        output:
            study.files_of(EMBEDDING_ON_TOP, dataset="{dataset}"),
        log:
            f"{LOGS}/networks/linear_embedding.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        priority: 1
        conda:
            "../../envs/deep.yaml"
        threads: lambda wildcards: FINEGRAINED[wildcards.dataset].networks.threads
        params:
            settings=settings_for(FINEGRAINED, "train_linear_embedding"),
        script:
            "../scripts/train_linear_embedding.py"


rule score_triplets:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        triplets=f"{RESULTS}/triplets.parquet",
        pairs=f"{RESULTS}/pairs.parquet",
        distances=lambda wildcards: FINEGRAINED[wildcards.dataset].files_of(file="distances.npy"),
        fits=lambda wildcards: FINEGRAINED[wildcards.dataset].files_of(file="fit.json"),
        curves=lambda wildcards: FINEGRAINED[wildcards.dataset].files_of(file="curve.parquet"),
    output:
        outcomes=f"{RESULTS}/outcomes.parquet",
        results=f"{RESULTS}/results.parquet",
    log:
        f"{LOGS}/score_triplets.log",
    wildcard_constraints:
        dataset=one_of(FINEGRAINED),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(FINEGRAINED, "score_triplets"),
    script:
        "../scripts/score_triplets.py"
