"""Put the numbers of every run of a study into its one table, and what each fit chose and took into others.

Times live in the table of fits and nowhere else.
"""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, read_table, write_table
    from lookalike.exhibits.results import write_results
    from lookalike.studies.metrics import gather, results_rows

    given, target = snakemake.input, snakemake.output
    if target.get("results"):
        write_results(results_rows(given.metrics, "category"), target.results)
    else:
        gather(given.metrics, target.metrics)
    fits = pd.json_normalize([read_json(file) for file in given.fits], sep="_")
    write_table(fits.drop(columns=[c for c in fits if c.startswith("parameters")]), target.fits)
    if given.get("selections"):
        selections = pd.concat([read_table(file) for file in given.selections], ignore_index=True)
        write_table(selections, target.selections)
