"""From nothing to a manifest and a codebook pool.

Needs: a folder or archive in place, or the network, or nothing at all (synthetic). Makes: manifest.parquet, a row with
status and reason for every file, and codebook_pool.parquet, the images that palette and codebook are learned from. A
folder of published visterm counts has both, and the counts.
"""


rule draw_images:
    output:
        f"{RESULTS}/drawn/{{shard}}.json",
    log:
        f"{LOGS}/draw_images/{{shard}}.log",
    wildcard_constraints:
        dataset=one_of(PAINTED),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(STUDY_OF, "draw_images"),
        recipe=lambda wildcards: fingerprint(recipe_module(SETTINGS.datasets[wildcards.dataset].kind)),
    script:
        "../scripts/draw_images.py"


rule locate_images:
    input:
        drawn=lambda wildcards: STUDY_OF[wildcards.dataset].drawn_shards(),
        archives=RESOURCES / "archives.yaml",
        class_counts=RESOURCES / "caltech256-class-counts.csv",
    output:
        f"{RESULTS}/images.json",
    log:
        f"{LOGS}/locate_images.log",
    wildcard_constraints:
        dataset=one_of([*PICTURED, *PHOTOGRAPHED]),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(STUDY_OF, "locate_images"),
    script:
        "../scripts/locate_images.py"


rule scan_images:
    input:
        images=f"{RESULTS}/images.json",
    output:
        manifest=f"{RESULTS}/manifest.parquet",
        listing=f"{RESULTS}/listing.txt",
    log:
        f"{LOGS}/scan_images.log",
    wildcard_constraints:
        dataset=one_of(PICTURED),
    conda:
        "../../envs/images.yaml"
    threads: reading_threads
    params:
        settings=settings_for(CATEGORY, "scan_images"),
        listing=folder_listing,
    script:
        "../scripts/scan_images.py"


rule draw_codebook_pool:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
    output:
        f"{RESULTS}/codebook_pool.parquet",
    log:
        f"{LOGS}/draw_codebook_pool.log",
    wildcard_constraints:
        dataset=one_of(PICTURED),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(CATEGORY, "draw_codebook_pool"),
    script:
        "../scripts/draw_codebook_pool.py"


for studied_dataset in [dataset for dataset, study in STUDY_OF.items() if not study.has_pictures]:

    rule:
        name:
            f"read_visterms_{studied_dataset}"
        input:
            shipped_files(studied_dataset, VISTERM_FILES),
        output:
            manifest=f"results/{studied_dataset}/manifest.parquet",
            pool=f"results/{studied_dataset}/codebook_pool.parquet",
            counts=f"results/{studied_dataset}/features/{counted_by(studied_dataset)[0]}/counts.npz",
        log:
            f"logs/{studied_dataset}/read_visterms.log",
        conda:
            "../../envs/images.yaml"
        params:
            folder=lambda wildcards, dataset=studied_dataset: SETTINGS.datasets[dataset].path,
            words=counted_by(studied_dataset)[1].words,
        script:
            "../scripts/read_visterms.py"
