"""Score every system on the rated triplets, with intervals over query images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_table, write_table
    from lookalike.ranking.triplet_metrics import contrasts, intervals, outcomes, tidy_metrics

    triplets, pairs = read_table(snakemake.input.triplets), read_table(snakemake.input.pairs)
    distances = {Path(file).parent.name: np.load(file) for file in snakemake.input.distances}
    k, resamples, seed = snakemake.params.settings["k"], snakemake.params.settings["resamples"], snakemake.params.seed
    ranked = outcomes(triplets, pairs, distances, k=k)
    bootstrap = {"seed": seed, "k": k, "n_resamples": resamples, "manifest": read_table(snakemake.input.manifest)}
    scores = intervals(ranked, triplets, pairs, **bootstrap)
    asked = snakemake.params.contrasts
    write_table(ranked, snakemake.output.outcomes)
    write_table(scores, snakemake.output.intervals)
    write_table(contrasts(ranked, triplets, **bootstrap, pairs_of_systems=asked), snakemake.output.contrasts)
    write_table(tidy_metrics(scores, snakemake.wildcards.dataset), snakemake.output.metrics)
