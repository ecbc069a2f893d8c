"""From numbers to the papers' tables and figures, ours beside the printed ones.

Needs: the tables of numbers that rules/category.smk makes (or, where a data set cannot be run, nothing: the exhibit then says why). Makes:
exhibits/{paper}/, a job for every exhibit, and exhibits/index.md, which lists them with their captions.
"""


report: "../report/workflow.rst"


wildcard_constraints:
    table="|".join(TABLES),
    figure="|".join(FIGURES),
    picture="|".join(PICTURES),


rule draw_table:
    input:
        unpack(numbers_of_exhibit),
        reference=RESOURCES / "reference-values.csv",
    output:
        in_report("category", multiext(f"{EXHIBITS}/{{table}}", *TABLE_FILES)),
    log:
        f"{LOGS}/exhibits/{{table}}.log",
    wildcard_constraints:
        dataset=one_of(CATEGORY),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
    script:
        "../scripts/draw_exhibit.py"


rule draw_figure:
    input:
        unpack(numbers_of_exhibit),
        reference=RESOURCES / "reference-values.csv",
    output:
        in_report("category", multiext(f"{EXHIBITS}/{{figure}}", *FIGURE_FILES)),
    log:
        f"{LOGS}/exhibits/{{figure}}.log",
    wildcard_constraints:
        dataset=one_of(CATEGORY),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
    script:
        "../scripts/draw_exhibit.py"


rule draw_picture:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        palette=lambda wildcards: f"{study_descriptor(wildcards)}/palette.npy",
        codebook=lambda wildcards: f"{study_features(wildcards)}/codebook.npy",
        blocks=lambda wildcards: [
            f"{study_descriptor(wildcards)}/blocks-{shard}.npz" for shard in shards(wildcards.dataset)
        ],
    output:
        in_report("category", multiext(f"{EXHIBITS}/{{picture}}", *PICTURE_FILES)),
    log:
        f"{LOGS}/exhibits/{{picture}}.log",
    wildcard_constraints:
        dataset=one_of(CATEGORY),
    conda:
        "../../envs/exhibits.yaml"
    params:
        data=lambda wildcards: DATASETS[wildcards.dataset],
        hellinger=lambda wildcards: config["representations"][CATEGORY[wildcards.dataset]["representation"]][
            "hellinger"
        ],
    script:
        "../scripts/draw_picture.py"


rule list_exhibits:
    input:
        exhibits=lambda wildcards: exhibit_files(wildcards.dataset),
        metrics=if_run(f"{RESULTS}/metrics.parquet"),
        fits=if_run(f"{RESULTS}/timing.parquet"),
        dropped=lambda wildcards: [
            f"results/{wildcards.dataset}/splits/{subset}-dropped.csv"
            for subset in CATEGORY[wildcards.dataset]["subsets"]
            if not not_run(wildcards.dataset)
        ],
    output:
        index=f"{EXHIBITS}/index.md",
        headline=f"{EXHIBITS}/headline.txt",
    log:
        f"{LOGS}/exhibits/index.log",
    wildcard_constraints:
        dataset=one_of(CATEGORY),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
    script:
        "../scripts/list_exhibits.py"
