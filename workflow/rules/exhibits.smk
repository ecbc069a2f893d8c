"""From numbers to the papers' tables and figures, ours beside the printed ones.

Needs: metrics.parquet, curves.parquet (or, where a data set cannot be run, nothing: the exhibit then says why). Makes:
exhibits/{paper}/, a job for every exhibit, and exhibits/index.md, which lists them with their captions.
"""

EXHIBITS = RESULTS + "/exhibits"
TABLES = ["oasis-jmlr-2010/table4", "oasis-2009-draft/table1"]
FIGURES = [
    "oasis-jmlr-2010/fig5",
    "oasis-jmlr-2010/fig6",
    "oasis-2009-draft/fig3",
    "oasis-2009-draft/fig4",
]
PICTURES = [
    "oasis-jmlr-2010/fig2",
    "representation/block_grid",
    "representation/palette",
    "representation/visterms",
]


wildcard_constraints:
    paper="[a-z0-9-]+",
    table="|".join({Path(table).name for table in TABLES}),
    figure="|".join({Path(figure).name for figure in FIGURES}),
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


def study_descriptor(wildcards):
    """Folder of the block descriptors of a data set's own representation."""
    descriptor = config["representations"][
        CATEGORY[wildcards.dataset]["representation"]
    ]["descriptor"]
    return f"results/{wildcards.dataset}/descriptors/{descriptor}"


def study_features(wildcards):
    """Folder of a data set's own representation."""
    return f"results/{wildcards.dataset}/features/{CATEGORY[wildcards.dataset]['representation']}"


def if_run(pattern):
    """Input function: the file, or nothing where the data set cannot be run."""
    return lambda wildcards: [] if not_run(wildcards.dataset) else pattern


def n_classes_asked_for(subsets, subset):
    """Number of classes of a subset as far as the configuration knows it before anything is scanned; else 0."""
    classes = subsets[subset]["classes"]
    if classes == "published":
        from lookalike.datasets.subsets import read_published_subsets

        return len(
            read_published_subsets(RESOURCES / "class-subsets.csv").get(subset, [])
        )
    return 0 if isinstance(classes, str) else len(classes)


def exhibit_context(wildcards):
    """What an exhibit has to know about its study besides the numbers."""
    dataset = wildcards.dataset
    study, data = CATEGORY[dataset], DATASETS[dataset]
    name = (
        f"{wildcards.get('paper')}/{wildcards.get('table') or wildcards.get('figure')}"
    )
    return {
        "dataset": dataset,
        "title": data.get("title", dataset),
        "kind": data["kind"],
        "not_run": not_run(dataset),
        "representation": study["representation"],
        "splits": study["splits"],
        "subsets": {
            subset: study["subsets"][subset]
            | {"n_classes": n_classes_asked_for(study["subsets"], subset)}
            for subset in study.get("exhibits", {}).get(name, list(study["subsets"]))
        },
        "methods": {
            method: config["methods"][method].get("title", method)
            for method in study["methods"]
        },
    }


rule draw_table:
    input:
        metrics=if_run(RESULTS + "/metrics.parquet"),
        fits=if_run(RESULTS + "/timing.parquet"),
        reference=RESOURCES / "reference-values.csv",
        code=code("exhibits/write.py"),
    output:
        multiext(
            EXHIBITS + "/{paper}/{table}",
            ".csv",
            ".md",
            ".tex",
            ".json",
            "_compare.csv",
            "_compare.md",
        ),
    log:
        LOGS + "/exhibits/{paper}/{table}.log",
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
    script:
        "../scripts/draw_exhibit.py"


rule draw_figure:
    input:
        metrics=if_run(RESULTS + "/metrics.parquet"),
        curves=if_run(RESULTS + "/curves.parquet"),
        fits=if_run(RESULTS + "/timing.parquet"),
        reference=RESOURCES / "reference-values.csv",
        code=code("exhibits/write.py"),
    output:
        multiext(
            EXHIBITS + "/{paper}/{figure}",
            ".png",
            ".svg",
            ".pdf",
            ".csv",
            ".json",
            "_compare.csv",
            "_compare.md",
        ),
    log:
        LOGS + "/exhibits/{paper}/{figure}.log",
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
    script:
        "../scripts/draw_exhibit.py"


rule draw_picture:
    input:
        images=RESULTS + "/images.json",
        manifest=RESULTS + "/manifest.parquet",
        pool=RESULTS + "/codebook_pool.parquet",
        palette=lambda wildcards: f"{study_descriptor(wildcards)}/palette.npy",
        codebook=lambda wildcards: f"{study_features(wildcards)}/codebook.npy",
        blocks=lambda wildcards: [
            f"{study_descriptor(wildcards)}/blocks-{shard}.npz"
            for shard in shards(wildcards.dataset)
        ],
        code=code("exhibits/representation.py"),
    output:
        multiext(EXHIBITS + "/{paper}/{picture}", ".png", ".svg", ".pdf", ".json"),
    log:
        LOGS + "/exhibits/{paper}/{picture}.log",
    conda:
        "../../envs/exhibits.yaml"
    params:
        data=lambda wildcards: DATASETS[wildcards.dataset],
        hellinger=lambda wildcards: config["representations"][
            CATEGORY[wildcards.dataset]["representation"]
        ]["hellinger"],
        seed=SEED,
    script:
        "../scripts/draw_picture.py"


rule list_exhibits:
    input:
        exhibits=lambda wildcards: [
            f"results/{wildcards.dataset}/exhibits/{name}.json"
            for name in exhibit_names(wildcards.dataset)
        ],
        metrics=if_run(RESULTS + "/metrics.parquet"),
        fits=if_run(RESULTS + "/timing.parquet"),
        code=code("exhibits/write.py"),
    output:
        index=EXHIBITS + "/index.md",
        headline=EXHIBITS + "/headline.txt",
    log:
        LOGS + "/exhibits/index.log",
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
    script:
        "../scripts/list_exhibits.py"
