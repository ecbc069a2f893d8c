"""From images to bags of visterms (OASIS, JMLR section 3).

Needs: manifest.parquet, codebook_pool.parquet, the images. Makes, per descriptor, the palette and the raw block
histograms in shards; per representation, the codebook and the raw term counts, a row for every row of the manifest.
"""


rule compile_kernels:
    input:
        code=code("features/descriptors.py") + code("learners/oasis.py"),
    output:
        touch("results/kernels.compiled"),
    log:
        "logs/compile_kernels.log",
    conda:
        "../../envs/images.yaml"
    script:
        "../scripts/compile_kernels.py"


rule learn_palette:
    input:
        images=RESULTS + "/images.json",
        manifest=RESULTS + "/manifest.parquet",
        pool=RESULTS + "/codebook_pool.parquet",
        code=code("features/palette.py"),
    output:
        DESCRIPTOR + "/palette.npy",
    log:
        LOGS + "/learn_palette/{descriptor}.log",
    conda:
        "../../envs/images.yaml"
    params:
        descriptor=lambda wildcards: config["descriptors"][wildcards.descriptor],
        seed=SEED,
    script:
        "../scripts/learn_palette.py"


rule describe_blocks:
    input:
        images=RESULTS + "/images.json",
        manifest=RESULTS + "/manifest.parquet",
        palette=DESCRIPTOR + "/palette.npy",
        kernels="results/kernels.compiled",
        code=code("features/descriptors.py"),
    output:
        DESCRIPTOR + "/blocks-{shard}.npz",
    log:
        LOGS + "/describe_blocks/{descriptor}/{shard}.log",
    conda:
        "../../envs/images.yaml"
    params:
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
    script:
        "../scripts/describe_blocks.py"


def block_shards(wildcards):
    """Every shard of the blocks that a representation is made from."""
    return [
        f"{descriptor_of(wildcards)}/blocks-{shard}.npz"
        for shard in shards(wildcards.dataset)
    ]


rule learn_codebook:
    input:
        pool=RESULTS + "/codebook_pool.parquet",
        blocks=block_shards,
        code=code("features/codebook.py"),
    output:
        FEATURES + "/codebook.npy",
    log:
        LOGS + "/learn_codebook/{representation}.log",
    conda:
        "../../envs/images.yaml"
    params:
        representation=lambda wildcards: config["representations"][
            wildcards.representation
        ],
        seed=SEED,
    script:
        "../scripts/learn_codebook.py"


rule count_visterms:
    input:
        manifest=RESULTS + "/manifest.parquet",
        codebook=FEATURES + "/codebook.npy",
        blocks=block_shards,
        code=code("features/codebook.py"),
    output:
        FEATURES + "/counts.npz",
    log:
        LOGS + "/count_visterms/{representation}.log",
    conda:
        "../../envs/images.yaml"
    params:
        hellinger=lambda wildcards: config["representations"][
            wildcards.representation
        ]["hellinger"],
    script:
        "../scripts/count_visterms.py"
