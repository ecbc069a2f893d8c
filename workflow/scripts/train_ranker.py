"""Train one ranker of several on the folds of a subset, and keep its matrices along training."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_csr, read_table, replacing
    from lookalike.studies.category.rankers import train_ranker

    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    kept = {}
    for fold in snakemake.params.folds:
        matrices = train_ranker(
            counts,
            splits,
            fold,
            int(snakemake.wildcards.ranker),
            snakemake.params.settings,
            seed=snakemake.params.seed,
            subset=snakemake.wildcards.subset,
        )
        kept |= {f"{fold}/{step}": matrix for step, matrix in matrices.items()}
    import numpy as np

    with replacing(snakemake.output[0]) as part, part.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **kept)
