"""Train rankers on the folds of a subset, one after the other, and keep their matrices along training."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_csr, read_table, replacing
    from lookalike.studies.category.folds import Fold
    from lookalike.studies.category.rankers import train_ranker

    params, subset = snakemake.params, snakemake.wildcards.subset
    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    for file in map(Path, snakemake.output):
        kept = {}
        for fold in params.folds:
            matrices = train_ranker(Fold(counts, splits, fold, params.seed, subset), int(file.stem), params.settings)
            kept |= {f"{fold}/{step}": matrix for step, matrix in matrices.items()}
        with replacing(file) as part, part.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **kept)
