"""From numbers to the papers' tables and figures, ours beside the printed ones.

Needs: metrics.parquet, curves.parquet (or, where a data set cannot be run, nothing: the exhibit then says why). Makes:
exhibits/{paper}/, a job for every exhibit, and exhibits/index.md, which lists them with their captions.
"""

EXHIBITS = RESULTS + "/exhibits"
TABLES = ["oasis-jmlr-2010/table4", "oasis-2009-draft/table1"]
FIGURES = ["oasis-jmlr-2010/fig5", "oasis-jmlr-2010/fig6", "oasis-2009-draft/fig3", "oasis-2009-draft/fig4"]
PICTURES = ["oasis-jmlr-2010/fig2", "representation/block_grid", "representation/palette", "representation/visterms"]


wildcard_constraints:
    paper="[a-z0-9-]+",
    table="table[0-9]+",
    figure="fig[0-9]+[a-d]?",
    picture="|".join(Path(picture).name for picture in PICTURES),


def exhibit_index(dataset):
    """The list of a data set's exhibits; making it makes them all."""
    return f"results/{dataset}/exhibits/index.md"


def paper_exhibits(paper):
    """The sidecar of each exhibit of a paper, for every data set that is not synthetic."""
    return [
        f"results/{dataset}/exhibits/{name}.json"
        for dataset in studied(synthetic=False)
        for name in exhibit_names(dataset)
        if name.startswith(paper + "/")
    ]


def exhibit_names(dataset):
    """The exhibits of a data set as paper/name; pictures of images need the images."""
    return [*TABLES, *FIGURES, *([] if not_run(dataset) else PICTURES)]


def if_run(pattern):
    """Input function: the file, or nothing where the data set cannot be run."""
    return lambda wildcards: [] if not_run(wildcards.dataset) else pattern


def exhibit_context(wildcards):
    """What an exhibit has to know about its study besides the numbers."""
    dataset = wildcards.dataset
    study, data = CATEGORY[dataset], DATASETS[dataset]
    name = f"{wildcards.paper}/{wildcards.get('table') or wildcards.get('figure')}"
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "not_run": not_run(dataset),
        "representation": study["representation"],
        "n_words": config["representations"][study["representation"]]["words"],
        "splits": study["splits"],
        "subsets": {
            subset: study["subsets"][subset]
            for subset in study.get("exhibits", {}).get(name, list(study["subsets"]))
        },
        "methods": {method: config["methods"][method].get("title", method) for method in study["methods"]},
    }


rule draw_table:
    input:
        metrics=if_run(RESULTS + "/metrics.parquet"),
        splits=if_run(RESULTS + "/class_counts.csv"),
        reference=RESOURCES / "reference-values.csv",
        code=code("exhibits/write.py"),
    output:
        multiext(EXHIBITS + "/{paper}/{table}", ".csv", ".md", ".tex", ".json", "_compare.csv", "_compare.md"),
    log:
        LOGS + "/exhibits/{paper}/{table}.log",
    params:
        context=exhibit_context,
    conda:
        "../../envs/exhibits.yaml"
    script:
        "../scripts/draw_exhibit.py"


rule draw_figure:
    input:
        metrics=if_run(RESULTS + "/metrics.parquet"),
        curves=if_run(RESULTS + "/curves.parquet"),
        fits=if_run(RESULTS + "/timing.parquet"),
        splits=if_run(RESULTS + "/class_counts.csv"),
        reference=RESOURCES / "reference-values.csv",
        code=code("exhibits/write.py"),
    output:
        multiext(
            EXHIBITS + "/{paper}/{figure}", ".png", ".svg", ".pdf", ".csv", ".json", "_compare.csv", "_compare.md"
        ),
    log:
        LOGS + "/exhibits/{paper}/{figure}.log",
    params:
        context=exhibit_context,
    conda:
        "../../envs/exhibits.yaml"
    script:
        "../scripts/draw_exhibit.py"
