"""Weigh distances by max margin on training relevance: the golden feature."""

from lookalike.workflow_log import logged

with logged(snakemake):
    from lookalike.datasets.relevance import RelevanceData
    from lookalike.evaluation.triplet_files import vectors_by_system, write_system
    from lookalike.evaluation.triplet_systems import GoldenSettings, golden_system
    from lookalike.files import read_table

    sampling = snakemake.params.sampling
    result = golden_system(
        vectors_by_system(snakemake.input.vectors),
        RelevanceData.load(snakemake.input.relevance),
        read_table(snakemake.input.pairs),
        GoldenSettings(
            **snakemake.params.settings,
            **{key: sampling[key] for key in ("out_of_class", "margin", "positive_threshold") if key in sampling},
        ),
        seed=snakemake.params.seed,
        report=print,
    )
    write_system(result, snakemake.output)
