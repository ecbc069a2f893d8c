"""Count the mistakes of OASIS on each fold beside the bound of JMLR Theorem 1."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.studies.category.folds import Fold
    from lookalike.studies.category.loss_bound import bound_fold

    params, wildcards = snakemake.params, snakemake.wildcards
    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    folds = [Fold(counts, splits, number, params.seed, wildcards.subset) for number in params.folds]
    table = pd.concat([bound_fold(fold, params.settings) for fold in folds], ignore_index=True)
    write_table(table.assign(representation=wildcards.representation), snakemake.output[0])
