"""From images to bags of visterms (OASIS, JMLR section 3).

Needs: manifest.parquet, codebook_pool.parquet, palettes, the images. Makes, per descriptor, the raw block
histograms in shards; per representation, the codebook and the raw term counts, a row for every row of the manifest.
"""


rule describe_blocks:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
        palette=f"{DESCRIPTOR}/palette.npy",
    output:
        f"{DESCRIPTOR}/blocks-{{shard}}.npz",
    log:
        f"{LOGS}/describe_blocks/{{descriptor}}/{{shard}}.log",
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(CATEGORY, "describe_blocks"),
    script:
        "../scripts/describe_blocks.py"


rule count_visterms:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        blocks=lambda wildcards: CATEGORY[wildcards.dataset].block_shards(wildcards.representation),
    output:
        codebook=f"{FEATURES}/codebook.npy",
        counts=f"{FEATURES}/counts.npz",
    log:
        f"{LOGS}/count_visterms/{{representation}}.log",
    wildcard_constraints:
        dataset=one_of(PICTURED),
        representation=one_of(SETTINGS.representations),
    conda:
        "../../envs/images.yaml"
    params:
        settings=settings_for(CATEGORY, "count_visterms"),
    script:
        "../scripts/count_visterms.py"


rule publish_visterms:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        counts=f"{FEATURES}/counts.npz",
        palette=lambda wildcards: CATEGORY[wildcards.dataset].palette(wildcards.representation),
    output:
        manifest=f"{RESULTS}/published/{{representation}}/manifest.csv",
        counts=f"{RESULTS}/published/{{representation}}/counts.npz",
        palette=f"{RESULTS}/published/{{representation}}/palette.npy",
    log:
        f"{LOGS}/publish_visterms/{{representation}}.log",
    wildcard_constraints:
        dataset=one_of(PICTURED),
        representation=one_of(SETTINGS.representations),
    conda:
        "../../envs/images.yaml"
    script:
        "../scripts/publish_visterms.py"
