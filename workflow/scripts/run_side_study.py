"""Run a side study of its own exhibit on each fold, such as rankers that are averaged (JMLR Figure 7)."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from importlib import import_module

    import pandas as pd

    from lookalike.core.files import read_csr, read_table
    from lookalike.exhibits.results import write_results
    from lookalike.studies.category.folds import Fold
    from lookalike.studies.category.settings import FewImagesOfMethods, Rankers, Transfer

    params, wildcards = snakemake.params.settings, snakemake.wildcards
    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    module = import_module(f"lookalike.studies.category.{wildcards.side}")
    own = {"rankers": Rankers, "transfer": Transfer, "few_images": FewImagesOfMethods}
    side = own[wildcards.side](**params["side"])
    folds = [Fold(counts, splits, number, params["seed"], wildcards.subset) for number in params["folds"]]
    write_results(pd.concat([module.numbers_of(fold, side) for fold in folds]), snakemake.output[0])
