"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, metrics.parquet, curves.parquet.
"""

RUN_FILES = [
    "model.npz",
    "fit.json",
    "selection.parquet",
    "metrics.parquet",
    "ranks.npz",
]


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
    conda:
        "../../envs/images.yaml"
    params:
        subset=subset_settings,
        splits=lambda wildcards: CATEGORY[wildcards.dataset]["splits"],
        seed=SEED,
    script:
        "../scripts/draw_splits.py"


def files_of_job(dataset, jobs, files):
    """Outputs of a job that runs one fold, or all folds of a fast method."""
    if jobs == "fold":
        return [RUN + "/{fold}/" + file for file in files]
    return expand(
        RUN + "/{fold}/{file}", fold=folds(dataset), file=files, allow_missing=True
    )


def folds_of_job(wildcards):
    """The folds that a job runs."""
    return (
        [int(wildcards.fold)]
        if "fold" in wildcards.keys()
        else list(folds(wildcards.dataset))
    )


# a slow method runs a job for every fold, a fast one all folds in one; nothing else differs
for studied_dataset in studied():
    for job_size in ("fold", "subset"):

        rule:
            name:
                f"run_{job_size}_{studied_dataset}"
            input:
                counts=FEATURES + "/counts.npz",
                splits=RESULTS + "/splits/{subset}.parquet",
                kernels="results/kernels.compiled",
                code=lambda wildcards: code("evaluation/protocol.py")
                + learner_code(wildcards.method),
            output:
                files_of_job(studied_dataset, job_size, RUN_FILES),
            log:
                LOGS
                + "/run/{representation}/{subset}/{method}"
                + ("/{fold}" if job_size == "fold" else "")
                + ".log",
            wildcard_constraints:
                dataset=studied_dataset,
                method=methods_with_jobs(studied_dataset, job_size),
            conda:
                "../../envs/learning.yaml"
            params:
                spec=method_spec,
                folds=folds_of_job,
                seed=SEED,
            script:
                "../scripts/run_folds.py"

        rule:
            name:
                f"trace_{job_size}_{studied_dataset}"
            input:
                counts=FEATURES + "/counts.npz",
                splits=RESULTS + "/splits/{subset}.parquet",
                kernels="results/kernels.compiled",
                code=lambda wildcards: code("evaluation/protocol.py")
                + learner_code(wildcards.method),
            output:
                files_of_job(studied_dataset, job_size, ["curve.parquet"]),
            log:
                LOGS
                + "/trace/{representation}/{subset}/{method}"
                + ("/{fold}" if job_size == "fold" else "")
                + ".log",
            wildcard_constraints:
                dataset=studied_dataset,
                method=methods_with_jobs(studied_dataset, job_size),
            conda:
                "../../envs/learning.yaml"
            params:
                spec=method_spec,
                folds=folds_of_job,
                seed=SEED,
            script:
                "../scripts/trace_folds.py"


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
            if file != "curve.parquet"
            or "trace" in settings.method_spec(config, wildcards.dataset, method)
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
