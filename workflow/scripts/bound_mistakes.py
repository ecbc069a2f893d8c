"""Count the mistakes of OASIS on each fold beside the bound of JMLR Theorem 1."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.studies.category.loss_bound import bound_fold

    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    names = {"representation": snakemake.wildcards.representation}
    tables = [
        bound_fold(
            counts,
            splits,
            fold,
            snakemake.params.settings,
            seed=snakemake.params.seed,
            subset=snakemake.wildcards.subset,
        ).assign(**names)
        for fold in snakemake.params.folds
    ]
    write_table(pd.concat(tables, ignore_index=True), snakemake.output[0])
