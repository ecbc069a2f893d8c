"""Put the numbers of every run of a landmark study into one table, and their times into another."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.results import read_results, write_results
    from lookalike.studies.landmark.results import results_of, times_of

    given, n_landmarks = snakemake.input, len(snakemake.params.settings["landmarks"])
    rows, fits = pd.concat(map(read_results, given.runs), ignore_index=True), [*map(read_json, given.fits)]
    results = [results_of(rows, fits, n_landmarks, len(read_table(given.manifest))), *map(read_results, given.lead)]
    write_results(pd.concat(results, ignore_index=True), snakemake.output.results)
    write_results(times_of(fits, n_landmarks), snakemake.output.times)
