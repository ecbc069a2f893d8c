"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, metrics.parquet, curves.parquet.
"""

RUN_FILES = ["model.npz", "fit.json", "selection.parquet", "metrics.parquet", "ranks.npz"]


def subset_settings(wildcards):
    """Settings of one subset, or a sentence that says which there are."""
    subsets = CATEGORY[wildcards.dataset]["subsets"]
    if wildcards.subset not in subsets:
        raise WorkflowError(
            f"{wildcards.dataset} has no subset {wildcards.subset!r} in config.yaml; there are: {', '.join(subsets)}"
        )
    return subsets[wildcards.subset]


def methods_with_jobs(dataset, jobs):
    """Methods of a data set's study that run one job per fold, or one per subset, as a wildcard constraint."""
    methods = [
        method
        for method in CATEGORY[dataset]["methods"]
        if settings.method_spec(config, dataset, method)["jobs"] == jobs
    ]
    return "|".join(methods) or "(?!)"


rule draw_splits:
    input:
        manifest=RESULTS + "/manifest.parquet",
        pool=RESULTS + "/codebook_pool.parquet",
        published=RESOURCES / "class-subsets.csv",
        code=code("datasets/splits.py") + code("datasets/subsets.py"),
    output:
        splits=RESULTS + "/splits/{subset}.parquet",
        dropped=RESULTS + "/splits/{subset}-dropped.csv",
    log:
        LOGS + "/draw_splits/{subset}.log",
    params:
        subset=subset_settings,
        splits=lambda wildcards: CATEGORY[wildcards.dataset]["splits"],
        seed=SEED,
    conda:
        "../../envs/images.yaml"
    script:
        "../scripts/draw_splits.py"


# the two ways to run a method differ in nothing but how many folds a job takes
for studied_dataset in studied():

    rule:
        name:
            f"run_fold_{studied_dataset}"
        wildcard_constraints:
            dataset=studied_dataset,
            method=methods_with_jobs(studied_dataset, "fold"),
        input:
            counts=FEATURES + "/counts.npz",
            splits=RESULTS + "/splits/{subset}.parquet",
            kernels="results/kernels.compiled",
            code=lambda wildcards: code("evaluation/protocol.py") + learner_code(wildcards.method),
        output:
            multiext(RUN + "/{fold}/", *RUN_FILES),
        log:
            LOGS + "/run/{representation}/{subset}/{method}/{fold}.log",
        params:
            spec=method_spec,
            folds=lambda wildcards: [int(wildcards.fold)],
            seed=SEED,
        conda:
            "../../envs/learning.yaml"
        script:
            "../scripts/run_folds.py"

    rule:
        name:
            f"run_subset_{studied_dataset}"
        wildcard_constraints:
            dataset=studied_dataset,
            method=methods_with_jobs(studied_dataset, "subset"),
        input:
            counts=FEATURES + "/counts.npz",
            splits=RESULTS + "/splits/{subset}.parquet",
            kernels="results/kernels.compiled",
            code=lambda wildcards: code("evaluation/protocol.py") + learner_code(wildcards.method),
        output:
            expand(RUN + "/{fold}/{file}", fold=folds(studied_dataset), file=RUN_FILES, allow_missing=True),
        log:
            LOGS + "/run/{representation}/{subset}/{method}.log",
        params:
            spec=method_spec,
            folds=list(folds(studied_dataset)),
            seed=SEED,
        conda:
            "../../envs/learning.yaml"
        script:
            "../scripts/run_folds.py"


rule trace_fold:
    input:
        counts=FEATURES + "/counts.npz",
        splits=RESULTS + "/splits/{subset}.parquet",
        kernels="results/kernels.compiled",
        code=lambda wildcards: code("evaluation/protocol.py") + learner_code(wildcards.method),
    output:
        RUN + "/{fold}/curve.parquet",
    log:
        LOGS + "/trace/{representation}/{subset}/{method}/{fold}.log",
    params:
        spec=method_spec,
        seed=SEED,
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/trace_fold.py"


def study_runs(wildcards, file):
    """One file of every run of a data set's category study."""
    study = CATEGORY[wildcards.dataset]
    return expand(
        RUN + "/{fold}/" + file,
        dataset=wildcards.dataset,
        representation=[study["representation"], *study["ablations"]],
        subset=study["subsets"],
        method=[
            method
            for method in study["methods"]
            if file != "curve.parquet" or "trace" in settings.method_spec(config, wildcards.dataset, method)
        ],
        fold=folds(wildcards.dataset),
    )


rule gather_metrics:
    input:
        metrics=lambda wildcards: study_runs(wildcards, "metrics.parquet"),
    output:
        RESULTS + "/metrics.parquet",
    log:
        LOGS + "/gather_metrics.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"


rule gather_curves:
    input:
        metrics=lambda wildcards: study_runs(wildcards, "curve.parquet"),
    output:
        RESULTS + "/curves.parquet",
    log:
        LOGS + "/gather_curves.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"


rule gather_fits:
    input:
        fits=lambda wildcards: study_runs(wildcards, "fit.json"),
    output:
        RESULTS + "/timing.parquet",
    log:
        LOGS + "/gather_fits.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_fits.py"
