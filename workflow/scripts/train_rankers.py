"""Train rankers on the folds of a subset, one after the other, and keep their matrices along training."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_csr, read_table, replacing
    from lookalike.studies.category.rankers import train_ranker

    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    chosen = {"seed": snakemake.params.seed, "subset": snakemake.wildcards.subset}
    for file in map(Path, snakemake.output):
        kept = {}
        for fold in snakemake.params.folds:
            matrices = train_ranker(counts, splits, fold, int(file.stem), snakemake.params.settings, **chosen)
            kept |= {f"{fold}/{step}": matrix for step, matrix in matrices.items()}
        with replacing(file) as part, part.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **kept)
