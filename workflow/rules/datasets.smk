"""From nothing to a manifest and a codebook pool.

Needs: a folder or archive in place, or the network, or nothing at all (synthetic). Makes: images.json, manifest.parquet (a row with
status and reason for every file), codebook_pool.parquet (the images that palettes and codebooks are learned from) and the palettes
of descriptors. A folder of published visterm counts has manifest and pool, and the counts.
"""


rule paint_images:
    output:
        f"{RESULTS}/painted.json",
    log:
        f"{LOGS}/paint_images.log",
    wildcard_constraints:
        dataset=one_of(PAINTED),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(STUDY_OF, "paint_images"),
        recipe=lambda wildcards: fingerprint(recipe_module(SETTINGS.datasets[wildcards.dataset].kind)),
    script:
        "../scripts/paint_images.py"


for studied_dataset in PICTURED:

    rule:
        name:
            f"scan_images_{studied_dataset}"
        input:
            painted=lambda wildcards: CATEGORY[wildcards.dataset].painted(),
            archives=RESOURCES / "archives.yaml",
            class_counts=RESOURCES / "caltech256-class-counts.csv",
        output:
            images=f"{RESULTS}/images.json",
            manifest=f"{RESULTS}/manifest.parquet",
            listing=f"{RESULTS}/listing.txt",
            pool=f"{RESULTS}/codebook_pool.parquet",
            palettes=[f"{RESULTS}/descriptors/{id}/palette.npy" for id in CATEGORY[studied_dataset].descriptors],
        log:
            f"{LOGS}/scan_images.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        conda:
            "../../envs/images.yaml"
        threads: reading_threads
        params:
            settings=settings_for(CATEGORY, "scan_images"),
            listing=folder_listing,
        script:
            "../scripts/scan_images.py"


for studied_dataset in [dataset for dataset in CATEGORY if dataset not in PICTURED]:

    rule:
        name:
            f"read_visterms_{studied_dataset}"
        input:
            shipped_files(studied_dataset, VISTERM_FILES),
        output:
            manifest=f"{RESULTS}/manifest.parquet",
            pool=f"{RESULTS}/codebook_pool.parquet",
            counts=f"{RESULTS}/features/{CATEGORY[studied_dataset].representation}/counts.npz",
        log:
            f"{LOGS}/read_visterms.log",
        wildcard_constraints:
            dataset=one_of([studied_dataset]),
        # the longest jobs wait for it
        priority: 2
        conda:
            "../../envs/images.yaml"
        params:
            folder=lambda wildcards: SETTINGS.datasets[wildcards.dataset].path,
            words=SETTINGS.representations[CATEGORY[studied_dataset].representation].words,
        script:
            "../scripts/read_visterms.py"
