"""Score single rankers and their averages on the test images of each fold."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np
    import pandas as pd

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.studies.category.folds import Fold
    from lookalike.studies.category.rankers import average_rankers

    params, wildcards = snakemake.params, snakemake.wildcards
    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    tables = []
    for number in params.folds:
        matrices = []
        for file in snakemake.input.matrices:
            with np.load(file, allow_pickle=False) as stored:
                keys = [key for key in stored.files if key.startswith(f"{number}/")]
                matrices.append({int(key.partition("/")[2]): stored[key] for key in keys})
        fold = Fold(counts, splits, number, params.seed, wildcards.subset)
        tables.append(average_rankers(fold, matrices, params.settings))
    table = pd.concat(tables, ignore_index=True).assign(representation=wildcards.representation)
    write_table(table, snakemake.output[0])
