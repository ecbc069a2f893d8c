"""Draw the images that palette and codebook are learned from; no split ever uses them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.splits import draw_codebook_pool

    params = snakemake.params.settings
    seed = integer_seed(params["seed"], "pool", snakemake.wildcards.dataset)
    pool = draw_codebook_pool(read_table(snakemake.input.manifest), **params["pool"], seed=seed)
    write_table(pool, snakemake.output[0])
