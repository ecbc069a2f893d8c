"""Count what a simulated data set is like: the papers' Table 1, and the distributions behind it."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.seeds import integer_seed
    from lookalike.data.web_marginals import write_marginals

    write_marginals(
        snakemake.input.log,
        snakemake.input.images,
        snakemake.input.visterms,
        snakemake.params.words,
        snakemake.output.histograms,
        snakemake.output.counts,
        seed=integer_seed(snakemake.params.seed, "web", "marginals"),
    )
