"""Weigh distances by max margin on training relevance or on ratings: the golden feature."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table
    from lookalike.data.relevance import RelevanceData
    from lookalike.studies.finegrained.files import vectors_by_system, write_system
    from lookalike.studies.finegrained.golden import golden_system
    from lookalike.studies.finegrained.training import with_sampling

    result = golden_system(
        vectors_by_system(snakemake.input.vectors),
        RelevanceData.load(snakemake.input.relevance),
        read_table(snakemake.input.pairs),
        with_sampling(snakemake.params.settings, snakemake.params.sampling),
        seed=snakemake.params.seed,
        ratings=read_table(snakemake.input.ratings),
    )
    write_system(result, snakemake.output, relevance=lambda path: result.relevance.save(path))
