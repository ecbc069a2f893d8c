"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, metrics.parquet, curves.parquet.
"""


rule draw_splits:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        published=RESOURCES / "class-subsets.csv",
        code=code("datasets/splits.py", "datasets/subsets.py"),
    output:
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
        dropped=f"{RESULTS}/splits/{{subset}}-dropped.csv",
    log:
        f"{LOGS}/draw_splits/{{subset}}.log",
    conda:
        "../../envs/images.yaml"
    params:
        subset=subset_settings,
        splits=lambda wildcards: CATEGORY[wildcards.dataset]["splits"],
        seed=SEED,
    script:
        "../scripts/draw_splits.py"


# a slow method runs a job for every fold, a fast one all folds in one; nothing else differs
for studied_dataset in studied():
    for job_size in ("fold", "subset"):

        rule:
            name:
                f"run_{job_size}_{studied_dataset}"
            input:
                counts=f"{FEATURES}/counts.npz",
                splits=f"{RESULTS}/splits/{{subset}}.parquet",
                kernels=lambda wildcards: compiled(learner_file(wildcards.method)),
                code=lambda wildcards: code("evaluation/protocol.py", learner_file(wildcards.method)),
            output:
                files_of_job(studied_dataset, job_size, RUN_FILES),
            log:
                log_of_job("run", job_size),
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
                counts=f"{FEATURES}/counts.npz",
                splits=f"{RESULTS}/splits/{{subset}}.parquet",
                kernels=lambda wildcards: compiled(learner_file(wildcards.method)),
                code=lambda wildcards: code("evaluation/protocol.py", learner_file(wildcards.method)),
            output:
                files_of_job(studied_dataset, job_size, ["curve.parquet"]),
            log:
                log_of_job("trace", job_size),
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


rule gather_metrics:
    input:
        metrics=lambda wildcards: study_runs(wildcards, "metrics.parquet"),
    output:
        f"{RESULTS}/metrics.parquet",
    log:
        f"{LOGS}/gather_metrics.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"


rule gather_curves:
    input:
        curves=study_curves,
    output:
        f"{RESULTS}/curves.parquet",
    log:
        f"{LOGS}/gather_curves.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"


rule gather_fits:
    input:
        fits=lambda wildcards: study_runs(wildcards, "fit.json"),
    output:
        f"{RESULTS}/timing.parquet",
    log:
        f"{LOGS}/gather_fits.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_fits.py"
