"""Learn on hand-crafted features: weights of their distances (the golden feature), L1HashKPCA, and OASIS on that."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.data.relevance import RelevanceData
    from lookalike.studies.finegrained.files import vectors_by_system, write_system
    from lookalike.studies.finegrained.golden import golden_system
    from lookalike.studies.finegrained.protocol import l1hashkpca_system, oasis_system
    from lookalike.studies.finegrained.settings import EmbeddingOasis, GoldenFeature, L1HashKPCA, Sampling
    from lookalike.studies.finegrained.systems import OASIS

    given, params = snakemake.input, snakemake.params.settings
    sampling, seed = Sampling(**params["sampling"]), params["seed"]
    features, pairs = vectors_by_system(given.vectors), read_table(given.pairs)
    # without images to learn from there is no OASIS, and the golden feature learns from ratings alone
    learns = any(Path(file).parent.name == OASIS for file in snakemake.output)
    relevance = RelevanceData.load(given.relevance) if learns else None
    settings = GoldenFeature(**params["golden"])
    golden = golden_system(features, relevance, pairs, settings, sampling, seed=seed, ratings=read_table(given.ratings))
    write_system(golden, snakemake.output, relevance=lambda path: golden.relevance.save(path))

    rows, learned_from = codebook_images(read_table(given.manifest))
    weights, hashes = golden.fit["l1_weights"], L1HashKPCA(**params["l1hashkpca"])
    embedded = l1hashkpca_system(features, weights, rows, pairs, hashes, seed=seed, codebook_from=learned_from)
    write_system(embedded, snakemake.output)

    if learns:
        relevance = relevance if golden.relevance is None else golden.relevance
        oasis_settings = EmbeddingOasis(**params["oasis"])
        oasis = oasis_system(embedded.vectors, relevance, pairs, oasis_settings, sampling, seed=seed)
        write_system(oasis, snakemake.output)
