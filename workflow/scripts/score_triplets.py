"""Score every system on the rated triplets, and gather curves and how trainings ended."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_json, read_table, write_table
    from lookalike.exhibits.results import write_results
    from lookalike.ranking.triplet_metrics import outcomes
    from lookalike.studies.finegrained.results import results_of

    given, k = snakemake.input, snakemake.params.settings["k"]
    triplets, pairs = read_table(given.triplets), read_table(given.pairs)
    distances = {Path(file).parent.name: np.load(file) for file in given.distances}
    ranked = outcomes(triplets, pairs, distances, k=k)
    fits = {Path(file).parent.name: read_json(file) for file in given.fits}
    curves = {Path(file).parent.name: read_table(file) for file in given.curves}
    write_table(ranked, snakemake.output.outcomes)
    rows = results_of(ranked, triplets, pairs, read_table(given.manifest), fits, curves, k)
    write_results(rows, snakemake.output.results)
