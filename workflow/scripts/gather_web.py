"""Put the numbers of a web study into one table of results, and its times into another."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.results import read_results, results_frame, write_results
    from lookalike.studies.web.results import counted, times_of_ranker

    given, target = snakemake.input, snakemake.output
    tables = [read_results(given.precision), counted(read_table(given.counts))]
    write_results(pd.concat(tables, ignore_index=True), target.results)
    trained = zip(map(read_json, given.fits), map(read_table, given.curves), strict=True)
    own = [row for fit, curve in trained for row in times_of_ranker(fit, curve)]
    times = [*map(read_results, given.runs), results_frame(own)]
    write_results(pd.concat(times, ignore_index=True), target.times)
