"""Run a side study of its own exhibit on each fold, such as rankers that are averaged (JMLR Figure 7)."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_csr, read_table
    from lookalike.exhibits.results import write_results
    from lookalike.studies.category.folds import Fold
    from lookalike.studies.category.side_studies import numbers_of

    params, wildcards = snakemake.params.settings, snakemake.wildcards
    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    folds = [Fold(counts, splits, number, params["seed"], wildcards.subset) for number in params["folds"]]
    write_results(pd.concat([numbers_of(wildcards.side, fold, params["side"]) for fold in folds]), snakemake.output[0])
