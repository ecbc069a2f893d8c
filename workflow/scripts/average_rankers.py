"""Score single rankers and their averages on the test images of each fold."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np
    import pandas as pd

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.studies.category.rankers import average_rankers

    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    names = {"representation": snakemake.wildcards.representation}
    tables = []
    for fold in snakemake.params.folds:
        matrices = []
        for file in snakemake.input.matrices:
            with np.load(file, allow_pickle=False) as stored:
                keys = [key for key in stored.files if key.startswith(f"{fold}/")]
                matrices.append({int(key.partition("/")[2]): stored[key] for key in keys})
        averaged = average_rankers(
            counts,
            splits,
            fold,
            matrices,
            snakemake.params.settings,
            seed=snakemake.params.seed,
            subset=snakemake.wildcards.subset,
        )
        tables.append(averaged.assign(**names))
    write_table(pd.concat(tables, ignore_index=True), snakemake.output[0])
