"""Draw the images that palette and codebook are learned from; no split ever uses them."""

from lookalike.workflow_log import logged

with logged(snakemake):
    from lookalike.datasets.pool import draw_codebook_pool
    from lookalike.files import read_table, write_table
    from lookalike.seeds import integer_seed

    pool = draw_codebook_pool(
        read_table(snakemake.input.manifest),
        share=snakemake.params.pool["share"],
        keep=snakemake.params.pool["keep"],
        seed=integer_seed(snakemake.params.seed, "pool", snakemake.wildcards.dataset),
    )
    write_table(pool, snakemake.output[0])
