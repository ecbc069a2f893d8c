"""Learn the codebook of visterms from the blocks of the codebook pool."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_array
    from lookalike.core.seeds import generator, integer_seed
    from lookalike.core.settings.schema import Representation
    from lookalike.features.codebook import learn_codebook, sample_descriptors
    from lookalike.features.descriptors import normalise

    params = snakemake.params.settings
    representation = Representation(**params["representation"])
    names = ("codebook", snakemake.wildcards.dataset, snakemake.wildcards.representation)
    counts = sample_descriptors(
        snakemake.input.blocks,
        read_table(snakemake.input.pool)["image_id"].to_numpy(),
        representation.max_descriptors,
        generator(params["seed"], *names, "sample"),
    )
    print(f"{len(counts)} descriptors for {representation.words} words")
    codebook = learn_codebook(
        normalise(counts),
        representation.words,
        seed=integer_seed(params["seed"], *names, "k-means"),
        n_iterations=representation.iterations,
    )
    write_array(codebook, snakemake.output[0])
