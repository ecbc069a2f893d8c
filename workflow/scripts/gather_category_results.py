"""Put the numbers of every run of the category study into rows of results, and its times into a table of their own."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from types import SimpleNamespace

    import pandas as pd

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.results import write_results
    from lookalike.studies.category.results import results_of, times_of

    given, target = snakemake.input, snakemake.output
    about = SimpleNamespace(**snakemake.params.settings)
    tables = (given.numbers, given.selections)
    numbers, selections = (pd.concat(map(read_table, files), ignore_index=True) for files in tables)
    fits = pd.json_normalize([read_json(file) for file in given.fits], sep="_")
    write_results(results_of(numbers, fits, read_table(given.manifest), about), target.results)
    write_results(times_of(fits, selections, about), target.times)
