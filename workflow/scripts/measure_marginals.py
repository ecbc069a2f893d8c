"""Count what a simulated data set is like: the papers' Table 1, and the distributions behind it."""

from lookalike.workflow_log import logged

with logged(snakemake):
    from lookalike.datasets.web_marginals import write_marginals
    from lookalike.seeds import integer_seed

    write_marginals(
        snakemake.input.log,
        snakemake.input.images,
        snakemake.input.visterms,
        snakemake.params.words,
        snakemake.output.histograms,
        snakemake.output.counts,
        seed=integer_seed(snakemake.params.seed, "web", "marginals"),
    )
