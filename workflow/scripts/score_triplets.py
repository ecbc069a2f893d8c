"""Score every system on the rated triplets, with intervals over query images, and gather curves and times."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np
    import pandas as pd

    from lookalike.core.files import read_json, read_table, write_table
    from lookalike.ranking.triplet_metrics import contrasts, intervals
    from lookalike.ranking.triplet_outcomes import outcomes
    from lookalike.studies.finegrained.numbers import metrics_of
    from lookalike.studies.finegrained.settings import Score

    given, params, target = snakemake.input, snakemake.params.settings, snakemake.output
    score = Score(**params["score"])
    triplets, pairs = read_table(given.triplets), read_table(given.pairs)
    distances = {Path(file).parent.name: np.load(file) for file in given.distances}
    ranked = outcomes(triplets, pairs, distances, k=score.k)
    bootstrap = {
        "seed": params["seed"],
        "k": score.k,
        "n_resamples": score.resamples,
        "manifest": read_table(given.manifest),
        "trainings": params["trainings"],
    }
    scores = intervals(ranked, triplets, pairs, **bootstrap)
    curves = {Path(file).parent.name: read_table(file) for file in given.curves}
    asked = [tuple(pair) for pair in params["pairs"]]
    write_table(ranked, target.outcomes)
    write_table(contrasts(ranked, triplets, **bootstrap, pairs_of_systems=asked), target.contrasts)
    fits = {Path(file).parent.name: read_json(file) for file in given.fits}
    finished = {name: fit["finished"] for name, fit in fits.items() if "finished" in fit}
    write_table(metrics_of(scores, curves, finished), target.metrics)
    write_table(pd.json_normalize(list(fits.values()), sep="_"), target.fits)
