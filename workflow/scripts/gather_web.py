"""Put the numbers of a web study into one table, and its times into others: of fits, and by size."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, read_table, write_table
    from lookalike.studies.web.numbers import runtime_of_ranker, runtime_table, study_metrics

    given, target = snakemake.input, snakemake.output
    precision, counts = read_table(given.precision), read_table(given.counts)
    fits, curves = [read_json(file) for file in given.fits], [read_table(file) for file in given.curves]
    write_table(study_metrics(precision, counts), target.metrics)
    write_table(pd.DataFrame(fits).drop(columns="parameters"), target.timing)
    sizes = [row for file in given.runs for row in read_table(file).to_dict("records")]
    own = [runtime_of_ranker(fit, of_ranker) for fit, of_ranker in zip(fits, curves, strict=True)]
    write_table(runtime_table([*sizes, *own]), target.runtime)
