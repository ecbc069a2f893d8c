"""Learn on hand-crafted features: weights of their distances (the golden feature), L1HashKPCA, and OASIS on that."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.data.relevance import RelevanceData
    from lookalike.studies.finegrained.files import vectors_by_system, write_system
    from lookalike.studies.finegrained.golden import golden_system
    from lookalike.studies.finegrained.protocol import l1hashkpca_system, oasis_system
    from lookalike.studies.finegrained.training import with_sampling

    given, chosen, seed = snakemake.input, snakemake.params, snakemake.params.seed
    features, pairs = vectors_by_system(given.vectors), read_table(given.pairs)
    relevance, ratings = RelevanceData.load(given.relevance), read_table(given.ratings)
    settings = with_sampling(chosen.golden, chosen.sampling)
    golden = golden_system(features, relevance, pairs, settings, seed=seed, ratings=ratings)
    write_system(golden, snakemake.output, relevance=lambda path: golden.relevance.save(path))

    rows, told = codebook_images(read_table(given.manifest))
    weights = golden.fit["l1_weights"]
    embedded = l1hashkpca_system(features, weights, rows, pairs, chosen.l1hashkpca, seed=seed, codebook_from=told)
    write_system(embedded, snakemake.output)

    relevance = relevance if golden.relevance is None else golden.relevance
    settings = with_sampling(chosen.oasis, chosen.sampling)
    oasis = oasis_system(embedded.vectors, relevance, pairs, settings, seed=seed, buffers=chosen.buffers)
    write_system(oasis, snakemake.output)
