"""From images to bags of visterms (OASIS, JMLR section 3).

Needs: manifest.parquet, codebook_pool.parquet, the images. Makes, per descriptor, the palette and the raw block
histograms in shards; per representation, the codebook and the raw term counts, a row for every row of the manifest.
"""


# kernels that a module builds upon come first, so that no two jobs compile the same ones
rule compile_kernels:
    input:
        kernels=lambda wildcards: compiled(f"{wildcards.module}.py", itself=False),
        code=lambda wildcards: code(f"{wildcards.module}.py"),
    output:
        touch("results/kernels/{module}.compiled"),
    log:
        "logs/compile_kernels/{module}.log",
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/compile_kernels.py"


rule learn_palette:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
        pool=f"{RESULTS}/codebook_pool.parquet",
        code=code("features/palette.py"),
    output:
        f"{DESCRIPTOR}/palette.npy",
    log:
        f"{LOGS}/learn_palette/{{descriptor}}.log",
    conda:
        "../../envs/images.yaml"
    params:
        descriptor=lambda wildcards: config["descriptors"][wildcards.descriptor],
        seed=SEED,
    script:
        "../scripts/learn_palette.py"


rule describe_blocks:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
        palette=f"{DESCRIPTOR}/palette.npy",
        kernels=compiled("features/codebook.py"),
        code=code("features/descriptors.py"),
    output:
        f"{DESCRIPTOR}/blocks-{{shard}}.npz",
    log:
        f"{LOGS}/describe_blocks/{{descriptor}}/{{shard}}.log",
    conda:
        "../../envs/images.yaml"
    params:
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
    script:
        "../scripts/describe_blocks.py"


rule learn_codebook:
    input:
        pool=f"{RESULTS}/codebook_pool.parquet",
        blocks=block_shards,
        code=code("features/codebook.py"),
    output:
        f"{FEATURES}/codebook.npy",
    log:
        f"{LOGS}/learn_codebook/{{representation}}.log",
    wildcard_constraints:
        representation=one_of(config["representations"]),
    conda:
        "../../envs/images.yaml"
    params:
        representation=lambda wildcards: config["representations"][wildcards.representation],
        seed=SEED,
    script:
        "../scripts/learn_codebook.py"


rule count_visterms:
    input:
        manifest=f"{RESULTS}/manifest.parquet",
        codebook=f"{FEATURES}/codebook.npy",
        blocks=block_shards,
        code=code("features/codebook.py"),
    output:
        f"{FEATURES}/counts.npz",
    log:
        f"{LOGS}/count_visterms/{{representation}}.log",
    wildcard_constraints:
        representation=one_of(config["representations"]),
    conda:
        "../../envs/images.yaml"
    params:
        hellinger=lambda wildcards: config["representations"][wildcards.representation]["hellinger"],
    script:
        "../scripts/count_visterms.py"
