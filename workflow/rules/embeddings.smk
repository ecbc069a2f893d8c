"""The papers' protocol on embeddings of today, on learned classes and on new ones.

Needs: a folder of embeddings and their manifest. Makes: manifest.parquet and results.parquet, the one table of numbers.
"""


rule run_embeddings:
    input:
        lambda wildcards: shipped_files(wildcards.dataset, EMBEDDING_FILES),
    output:
        manifest=f"{RESULTS}/manifest.parquet",
        results=f"{RESULTS}/results.parquet",
    log:
        f"{LOGS}/run_embeddings.log",
    wildcard_constraints:
        dataset=one_of(EMBEDDINGS),
    priority: 1
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        folder=lambda wildcards: SETTINGS.datasets[wildcards.dataset].path,
        settings=settings_for(EMBEDDINGS, "run"),
        learners=lambda wildcards: learner_code(*EMBEDDINGS[wildcards.dataset].methods),
        lda=code_of("learners/classifiers.py"),
    script:
        "../scripts/run_embeddings.py"
