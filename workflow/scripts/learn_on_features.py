"""Learn on hand-crafted features: weights of their distances (the golden feature), L1HashKPCA, and OASIS on that."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.core.settings.networks import Sampling
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.data.relevance import RelevanceData
    from lookalike.studies.finegrained.golden import golden_system
    from lookalike.studies.finegrained.protocol import l1hashkpca_system, oasis_system
    from lookalike.studies.finegrained.settings import EmbeddingOasis, GoldenFeature, L1HashKPCA
    from lookalike.studies.finegrained.systems import OASIS, write_system

    given, params = snakemake.input, snakemake.params.settings
    sampling, seed = Sampling(**params["sampling"]), params["seed"]
    features = {Path(file).parent.name: np.load(file, mmap_mode="r") for file in given.vectors}
    pairs, ratings = read_table(given.pairs), read_table(given.ratings)
    # without images to learn from there is no OASIS, and the golden feature learns from ratings alone
    learns = any(Path(file).parent.name == OASIS for file in snakemake.output)
    relevance = RelevanceData.load(given.relevance) if learns else None
    golden = golden_system(features, relevance, ratings, pairs, GoldenFeature(**params["golden"]), sampling, seed=seed)
    write_system(golden, snakemake.output, relevance=lambda path: golden.relevance.save(path))

    rows, _ = codebook_images(read_table(given.manifest))
    settings = L1HashKPCA(**params["l1hashkpca"])
    embedded = l1hashkpca_system(features, golden.fit["l1_weights"], rows, pairs, settings, seed=seed)
    write_system(embedded, snakemake.output)

    if learns:
        relevance = golden.relevance or relevance
        settings = EmbeddingOasis(**params["oasis"])
        write_system(oasis_system(embedded.vectors, relevance, pairs, settings, sampling, seed=seed), snakemake.output)
