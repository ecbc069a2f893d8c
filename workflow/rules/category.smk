"""The category study (OASIS, JMLR 5.3): splits, one run per subset, method and fold, and their numbers in one table.

Needs: manifest.parquet, codebook_pool.parquet, counts.npz. Makes: splits/, runs/, rankers/, transfer/, few_images/, and the
rows that exhibits show: results.parquet, and times.parquet, which differs between any two runs.
studies/category/study.py says which jobs the settings need.
"""

from lookalike.studies.category.study import SIDES, makers


rule split_images:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        published=RESOURCES / "class-subsets.csv",
    output:
        splits=f"{RESULTS}/splits/{{subset}}.parquet",
        dropped=f"{RESULTS}/splits/{{subset}}-dropped.csv",
    log:
        f"{LOGS}/split_images/{{subset}}.log",
    # the longest jobs wait for it
    priority: 2
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(CATEGORY, "split_images"),
    script:
        "../scripts/split_images.py"


# Only the setting `batch` says how many fits a job makes. A table shows their times: with --resources exclusive=1, only
# one job that learns runs at a time
for study in CATEGORY.values():
    for batch in study.batches():

        rule:
            name:
                f"{batch.name}_{study.dataset}"
            input:
                counts=f"{study.folder}/features/{{representation}}/counts.npz",
                splits=f"{study.folder}/splits/{{subset}}.parquet",
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
                settings=settings_of(study, "run", batch),
                learners=learners_of(batch),
                makers=makers(batch),
                made_by=code_of(*(f"studies/category/{maker}.py" for maker in makers(batch).values())),
            script:
                "../scripts/run_folds.py"


rule gather_category_results:
    input:
        numbers=lambda wildcards: CATEGORY[wildcards.dataset].number_files(),
        fits=lambda wildcards: CATEGORY[wildcards.dataset].runs("fit.json"),
        selections=lambda wildcards: CATEGORY[wildcards.dataset].runs("selection.parquet", ablations=False),
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        results=f"{RESULTS}/results.parquet",
        times=f"{RESULTS}/times.parquet",
    log:
        f"{LOGS}/category/gather_numbers.log",
    wildcard_constraints:
        dataset=one_of(CATEGORY),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(CATEGORY, "gather"),
        made_by=fingerprint("studies/category/results.py"),
    script:
        "../scripts/gather_category_results.py"


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
    script:
        "../scripts/run_side_study.py"
