"""Put the numbers of every run of a landmark study into one table, and their times into another."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.results import read_results, write_results
    from lookalike.studies.landmark.results import results_of, times_of

    given, params = snakemake.input, snakemake.params.settings
    metrics = pd.concat(map(read_table, given.metrics), ignore_index=True)
    fits = pd.json_normalize([read_json(file) for file in given.fits], sep="_")
    n_images = len(read_table(given.manifest))
    named = (params["codebooks"], params["landmarks"])
    results = [results_of(metrics, fits, *named, n_images), *map(read_results, given.lead)]
    write_results(pd.concat(results, ignore_index=True), snakemake.output.results)
    write_results(times_of(fits, *named), snakemake.output.times)
