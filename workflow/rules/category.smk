"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, rankers/, transfer/, few_images/, and the tables that
exhibits are drawn from: category/metrics.parquet (results.parquet for halves), timing.parquet and selections.parquet. What the settings ask for is in studies/category/section.py.
"""

from lookalike.studies.category.section import SIDES, makers


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
        settings=settings_for(CATEGORY, "draw_splits"),
    script:
        "../scripts/draw_splits.py"


# Only the setting `batch` says how many fits a job makes. A table shows their times: with --resources exclusive=1, only
# one job that learns runs at a time
for studied_dataset, study in CATEGORY.items():
    for batch in study.batches():

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
                settings=settings_for(CATEGORY, "run", batch),
                learners=learners_of(batch),
                makers=makers(batch),
                made_by=code_of(*(f"studies/category/{maker}.py" for maker in makers(batch).values())),
            script:
                "../scripts/run_folds.py"


rule gather_category_numbers:
    input:
        metrics=lambda wildcards: CATEGORY[wildcards.dataset].number_files(),
        fits=lambda wildcards: CATEGORY[wildcards.dataset].runs("fit.json"),
        selections=lambda wildcards: CATEGORY[wildcards.dataset].runs("selection.parquet", ablations=False),
    output:
        metrics=f"{RESULTS}/category/metrics.parquet",
        fits=f"{RESULTS}/timing.parquet",
        selections=f"{RESULTS}/selections.parquet",
    log:
        f"{LOGS}/category/gather_numbers.log",
    wildcard_constraints:
        dataset=one_of([dataset for dataset, study in CATEGORY.items() if study.halves is None]),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_numbers.py"


use rule gather_category_numbers as gather_numbers_of_halves with:
    output:
        results=f"{RESULTS}/results.parquet",
        fits=f"{RESULTS}/timing.parquet",
        selections=f"{RESULTS}/selections.parquet",
    wildcard_constraints:
        dataset=one_of([dataset for dataset, study in CATEGORY.items() if study.halves is not None]),


rule run_side_study:
    input:
        counts=f"{FEATURES}/counts.npz",
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
    output:
        f"{RESULTS}/{{side}}/{{representation}}/{{subset}}.parquet",
    log:
        f"{LOGS}/{{side}}/{{representation}}/{{subset}}.log",
    wildcard_constraints:
        side=one_of(SIDES),
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        settings=settings_for(CATEGORY, "run_side_study"),
        learners=lambda wildcards: learner_code(*CATEGORY[wildcards.dataset].learned_in(wildcards.side)),
        made_by=lambda wildcards: fingerprint(f"studies/category/{wildcards.side}.py"),
    script:
        "../scripts/run_side_study.py"
