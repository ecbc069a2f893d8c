"""Learn the codebook of visterms from the blocks of the codebook pool, and count the visterms of every image."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_array, write_csr
    from lookalike.core.seeds import generator, integer_seed
    from lookalike.features.codebook import count_visterms, learn_codebook, sample_descriptors
    from lookalike.features.descriptors import normalise

    given, params, names = snakemake.input, snakemake.params.settings, snakemake.wildcards
    words, n_iterations, most = (params["representation"][key] for key in ("words", "iterations", "max_descriptors"))
    stream = (params["seed"], "codebook", names.dataset, names.representation)
    pool = read_table(given.pool)["image_id"].to_numpy()
    sample = sample_descriptors(given.blocks, pool, most, generator(*stream, "sample"))
    print(f"{len(sample)} descriptors for {words} words")
    codebook = learn_codebook(normalise(sample), words, integer_seed(*stream, "k-means"), n_iterations)
    write_array(codebook, snakemake.output.codebook)
    counts = count_visterms(given.blocks, codebook, n_rows=len(read_table(given.manifest)))
    write_csr(counts, snakemake.output.counts)
