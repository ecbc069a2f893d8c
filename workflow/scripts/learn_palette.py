"""Learn the colour palette from pixels of the codebook pool."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json, read_table, write_array
    from lookalike.core.seeds import integer_seed
    from lookalike.features.palette import learn_palette, pool_pixels

    names = ("palette", snakemake.wildcards.dataset, snakemake.wildcards.descriptor)
    pixels = pool_pixels(
        read_json(snakemake.input.images)["root"],
        read_table(snakemake.input.manifest),
        read_table(snakemake.input.pool),
        snakemake.params.descriptor["palette_pixels"],
        seed=integer_seed(snakemake.params.seed, *names, "pixels"),
    )
    palette = learn_palette(
        pixels,
        snakemake.params.descriptor["palette_colours"],
        seed=integer_seed(snakemake.params.seed, *names, "k-means"),
    )
    write_array(palette, snakemake.output[0])
