"""Trace training and test mAP along training at a fixed aggressiveness, past the point of early stopping."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from lookalike.evaluation.protocol import trace_fold
    from lookalike.files import read_csr, read_table, write_table

    trace = snakemake.params.spec["trace"]
    curve = trace_fold(
        read_csr(snakemake.input.counts),
        read_table(snakemake.input.splits),
        int(snakemake.wildcards.fold),
        snakemake.params.spec,
        seed=snakemake.params.seed,
        subset=snakemake.wildcards.subset,
        method=snakemake.wildcards.method,
        aggressiveness=trace["aggressiveness"],
        n_steps=trace["steps"],
        n_points=trace["points"],
    )
    names = {key: snakemake.wildcards[key] for key in ("dataset", "representation")}
    write_table(curve.assign(**names), snakemake.output[0])
