"""Learn the colour palette from pixels of the codebook pool."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from lookalike.features.palette import learn_pool_palette
    from lookalike.files import read_json, read_table, write_array
    from lookalike.seeds import integer_seed

    palette = learn_pool_palette(
        read_json(snakemake.input.images)["root"],
        read_table(snakemake.input.manifest),
        read_table(snakemake.input.pool),
        n_colours=snakemake.params.descriptor["palette_colours"],
        n_pixels=snakemake.params.descriptor["palette_pixels"],
        seed=integer_seed(snakemake.params.seed, "palette", snakemake.wildcards.dataset),
    )
    write_array(palette, snakemake.output[0])
