"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, rankers/, loss_bound/, transfer/, and the tables that
exhibits are drawn from: category/metrics.parquet, timing.parquet and selections.parquet. What is run is planned in studies/category/plan.py.
"""

from lookalike.studies.category import plan as category


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
        subset=lambda wildcards: category.subset_settings(config, wildcards.dataset, wildcards.subset),
        splits=lambda wildcards: CATEGORY[wildcards.dataset]["splits"],
        seed=SEED,
    script:
        "../scripts/draw_splits.py"


# Only the setting `batch` says how many fits a job makes. A table shows their times: with --resources exclusive=1, only
# one job that learns runs at a time
for studied_dataset in CATEGORY:
    for batch in category.batches(config, studied_dataset):

        rule:
            name:
                f"{batch.name}_{studied_dataset}"
            input:
                counts=f"{FEATURES}/counts.npz",
                splits=f"{RESULTS}/splits/{{subset}}.parquet",
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
                specs=specs_of(batch),
                learners=learners_of(batch),
                makers=category.makers(batch),
                made_by=code_of(*(f"studies/category/{maker}.py" for maker in category.makers(batch).values())),
                seed=SEED,
            script:
                "../scripts/run_folds.py"


rule gather_category_numbers:
    input:
        metrics=lambda wildcards: category.number_files(config, wildcards.dataset),
        fits=lambda wildcards: category.runs(config, wildcards.dataset, "fit.json"),
        selections=lambda wildcards: category.runs(config, wildcards.dataset, "selection.parquet", ablations=False),
    output:
        metrics=f"{RESULTS}/category/metrics.parquet",
        fits=f"{RESULTS}/timing.parquet",
        selections=f"{RESULTS}/selections.parquet",
    log:
        f"{LOGS}/category/gather_numbers.log",
    wildcard_constraints:
        dataset=one_of(CATEGORY),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_numbers.py"


rule run_side_study:
    input:
        counts=f"{FEATURES}/counts.npz",
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
    output:
        f"{RESULTS}/{{side}}/{{representation}}/{{subset}}.parquet",
    log:
        f"{LOGS}/{{side}}/{{representation}}/{{subset}}.log",
    wildcard_constraints:
        side=one_of(category.SIDE_STUDIES),
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        settings=lambda wildcards: CATEGORY[wildcards.dataset][wildcards.side],
        made_by=lambda wildcards: fingerprint(f"studies/category/{wildcards.side}.py"),
        # rankers may be trained on fewer folds
        folds=lambda wildcards: category.folds(config, wildcards.dataset)[
            : CATEGORY[wildcards.dataset][wildcards.side].get("folds")
        ],
        seed=SEED,
    script:
        "../scripts/run_side_study.py"
