"""Trace training and test mAP along training at a fixed aggressiveness, past the point of early stopping."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.studies.category.traces import trace_fold

    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    curves = {int(Path(file).parent.name): file for file in snakemake.output}
    for fold in snakemake.params.folds:
        curve = trace_fold(
            counts,
            splits,
            fold,
            snakemake.params.spec,
            seed=snakemake.params.seed,
            subset=snakemake.wildcards.subset,
            method=snakemake.wildcards.method,
        )
        write_table(curve.assign(representation=snakemake.wildcards.representation), curves[fold])
