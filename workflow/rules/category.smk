"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, and the tables that exhibits are drawn
from: metrics.parquet, timing.parquet, curves.parquet, selections.parquet, comparison.csv,
rankers.parquet, bounds.parquet.
"""


rule draw_splits:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        published=RESOURCES / "class-subsets.csv",
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


# a slow method runs a job for every fold, a fast one all folds in one; nothing else differs. Fits are timed for a table:
# with --resources exclusive=1 one job that learns runs at a time
for studied_dataset in CATEGORY:
    for job_size in ("fold", "subset"):

        rule:
            name:
                f"run_{job_size}_{studied_dataset}"
            input:
                counts=f"{FEATURES}/counts.npz",
                splits=f"{RESULTS}/splits/{{subset}}.parquet",
            output:
                files_of_job(studied_dataset, job_size, RUN_FILES),
            log:
                log_of_job("run", job_size),
            wildcard_constraints:
                dataset=studied_dataset,
                method=methods_with_jobs(studied_dataset, job_size),
            conda:
                "../../envs/learning.yaml"
            resources:
                exclusive=1,
            params:
                spec=method_spec,
                learner=lambda wildcards: learner_code(wildcards.method),
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
            output:
                files_of_job(studied_dataset, job_size, ["curve.parquet"]),
            log:
                log_of_job("trace", job_size),
            wildcard_constraints:
                dataset=studied_dataset,
                method=methods_with_jobs(studied_dataset, job_size),
            conda:
                "../../envs/learning.yaml"
            resources:
                exclusive=1,
            params:
                spec=method_spec,
                learner=lambda wildcards: learner_code(wildcards.method),
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


rule gather_selections:
    input:
        lambda wildcards: own_runs(wildcards, "selection.parquet"),
    output:
        f"{RESULTS}/selections.parquet",
    log:
        f"{LOGS}/gather_selections.log",
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


rule compare_methods:
    input:
        ranks=lambda wildcards: own_runs(wildcards, "ranks.npz", timed=False),
    output:
        f"{RESULTS}/comparison.csv",
    log:
        f"{LOGS}/compare_methods.log",
    conda:
        "../../envs/learning.yaml"
    params:
        splits=lambda wildcards: CATEGORY[wildcards.dataset]["splits"],
        families=compared_families,
        seed=SEED,
    script:
        "../scripts/compare_methods.py"


rule train_ranker:
    input:
        counts=f"{FEATURES}/counts.npz",
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
    output:
        temp(f"{RESULTS}/rankers/{{representation}}/{{subset}}/{{ranker}}.npz"),
    log:
        f"{LOGS}/train_ranker/{{representation}}/{{subset}}/{{ranker}}.log",
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        settings=lambda wildcards: CATEGORY[wildcards.dataset]["rankers"],
        folds=lambda wildcards: ranker_folds(wildcards.dataset),
        seed=SEED,
    script:
        "../scripts/train_ranker.py"


rule average_rankers:
    input:
        counts=f"{FEATURES}/counts.npz",
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
        matrices=ranker_matrices,
    output:
        f"{RESULTS}/rankers/{{representation}}/{{subset}}/curves.parquet",
    log:
        f"{LOGS}/average_rankers/{{representation}}/{{subset}}.log",
    conda:
        "../../envs/learning.yaml"
    params:
        settings=lambda wildcards: CATEGORY[wildcards.dataset]["rankers"],
        folds=lambda wildcards: ranker_folds(wildcards.dataset),
        seed=SEED,
    script:
        "../scripts/average_rankers.py"


rule bound_mistakes:
    input:
        counts=f"{FEATURES}/counts.npz",
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
    output:
        f"{RESULTS}/bounds/{{representation}}/{{subset}}.parquet",
    log:
        f"{LOGS}/bound_mistakes/{{representation}}/{{subset}}.log",
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        settings=lambda wildcards: CATEGORY[wildcards.dataset]["loss_bound"],
        folds=lambda wildcards: list(folds(wildcards.dataset)),
        seed=SEED,
    script:
        "../scripts/bound_mistakes.py"


rule gather_rankers:
    input:
        of_shown_subsets("oasis-jmlr-2010/fig7", f"{RESULTS}/rankers/{{representation}}/{{subset}}/curves.parquet"),
    output:
        f"{RESULTS}/rankers.parquet",
    log:
        f"{LOGS}/gather_rankers.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"


rule gather_bounds:
    input:
        of_shown_subsets("learning/loss_bound", f"{RESULTS}/bounds/{{representation}}/{{subset}}.parquet"),
    output:
        f"{RESULTS}/bounds.parquet",
    log:
        f"{LOGS}/gather_bounds.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"
