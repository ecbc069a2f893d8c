"""From nothing to a manifest and a codebook pool.

Needs: a folder or archive in place, or the network, or nothing at all (synthetic). Makes: manifest.parquet, a row with
status and reason for every file, and codebook_pool.parquet, the images that palette and codebook are learned from.
"""


rule draw_images:
    input:
        code=code("datasets/synthetic.py"),
    output:
        RESULTS + "/drawn/{shard}.json",
    log:
        LOGS + "/draw_images/{shard}.log",
    conda:
        "../../envs/images.yaml"
    params:
        settings=lambda wildcards: DATASETS[wildcards.dataset]["synthetic"],
        folder=RESULTS + "/images",
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
        seed=SEED,
    script:
        "../scripts/draw_images.py"


rule locate_images:
    input:
        drawn=lambda wildcards: (
            expand(
                RESULTS + "/drawn/{shard}.json",
                dataset=wildcards.dataset,
                shard=shards(wildcards.dataset),
            )
            if DATASETS[wildcards.dataset]["kind"] == "synthetic"
            else []
        ),
        archives=RESOURCES / "archives.yaml",
    output:
        RESULTS + "/images.json",
    log:
        LOGS + "/locate_images.log",
    conda:
        "../../envs/images.yaml"
    params:
        data=lambda wildcards: DATASETS[wildcards.dataset],
        drawn_folder=RESULTS + "/images",
    script:
        "../scripts/locate_images.py"


def folder_listing(wildcards):
    """Fingerprint of a user's own folder, so that adding, removing or replacing an image scans it again."""
    data = DATASETS[wildcards.dataset]
    if data["kind"] != "folder":
        return ""
    from lookalike.datasets.locate import listing_fingerprint

    return listing_fingerprint(data["path"])


rule scan_images:
    input:
        images=RESULTS + "/images.json",
        code=code("datasets/scan.py"),
    output:
        RESULTS + "/manifest.parquet",
    log:
        LOGS + "/scan_images.log",
    conda:
        "../../envs/images.yaml"
    threads: workflow.cores
    params:
        clutter=lambda wildcards: DATASETS[wildcards.dataset]["clutter"],
        listing=folder_listing,
    script:
        "../scripts/scan_images.py"


rule draw_codebook_pool:
    input:
        manifest=RESULTS + "/manifest.parquet",
        code=code("datasets/pool.py"),
    output:
        RESULTS + "/codebook_pool.parquet",
    log:
        LOGS + "/draw_codebook_pool.log",
    conda:
        "../../envs/images.yaml"
    params:
        pool=lambda wildcards: DATASETS[wildcards.dataset]["pool"],
        seed=SEED,
    script:
        "../scripts/draw_codebook_pool.py"
