"""From numbers to the papers' tables and figures, ours beside the printed ones.

Needs: the tables of numbers that rules/category.smk makes (or, where a data set cannot be run, nothing: the exhibit then says why). Makes:
exhibits/{paper}/, a job for every exhibit, and exhibits/index.md, which lists them with their captions.
"""


report: "../report/workflow.rst"


wildcard_constraints:
    paper="[a-z0-9-]+",
    table="|".join(sorted({Path(table).name for table in TABLES})),
    figure="|".join(sorted({Path(figure).name for figure in FIGURES})),
    picture="|".join(Path(picture).name for picture in PICTURES),


rule draw_table:
    input:
        unpack(numbers_of_exhibit),
        reference=RESOURCES / "reference-values.csv",
        code=code("exhibits/write.py", "exhibits/context.py", "exhibits/facts.py"),
    output:
        in_report("category", multiext(f"{EXHIBITS}/{{paper}}/{{table}}", *TABLE_FILES)),
    log:
        f"{LOGS}/exhibits/{{paper}}/{{table}}.log",
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
        code=code("exhibits/write.py", "exhibits/context.py", "exhibits/facts.py"),
    output:
        in_report("category", multiext(f"{EXHIBITS}/{{paper}}/{{figure}}", *FIGURE_FILES)),
    log:
        f"{LOGS}/exhibits/{{paper}}/{{figure}}.log",
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
        code=code("exhibits/representation.py"),
    output:
        in_report("category", multiext(f"{EXHIBITS}/{{paper}}/{{picture}}", *PICTURE_FILES)),
    log:
        f"{LOGS}/exhibits/{{paper}}/{{picture}}.log",
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
        code=code("exhibits/write.py", "exhibits/context.py"),
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
