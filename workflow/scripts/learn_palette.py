"""Learn the colour palette from pixels of the codebook pool."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json, read_table, write_array
    from lookalike.core.seeds import integer_seed
    from lookalike.core.settings.schema import Descriptor
    from lookalike.features.palette import learn_palette, pool_pixels

    params = snakemake.params.settings
    descriptor = Descriptor(**params["descriptor"])
    names = ("palette", snakemake.wildcards.dataset, snakemake.wildcards.descriptor)
    pixels = pool_pixels(
        read_json(snakemake.input.images)["root"],
        read_table(snakemake.input.manifest),
        read_table(snakemake.input.pool),
        descriptor.palette_pixels,
        seed=integer_seed(params["seed"], *names, "pixels"),
    )
    seed = integer_seed(params["seed"], *names, "k-means")
    palette = learn_palette(pixels, descriptor.palette_colours, seed=seed)
    write_array(palette, snakemake.output[0])
