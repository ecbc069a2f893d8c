"""Draw the images that palette and codebook are learned from; no split ever uses them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.splits import draw_codebook_pool

    pool = draw_codebook_pool(
        read_table(snakemake.input.manifest),
        **snakemake.params.pool,
        seed=integer_seed(snakemake.params.seed, "pool", snakemake.wildcards.dataset),
    )
    write_table(pool, snakemake.output[0])
