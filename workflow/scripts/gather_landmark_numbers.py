"""Put the numbers of every run, and of the sweep along lambda, into one table, and what each fit took into another."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, write_table
    from lookalike.studies.metrics import gather

    gather(snakemake.input.metrics, snakemake.output.metrics)
    fits = pd.json_normalize([read_json(file) for file in snakemake.input.fits], sep="_")
    write_table(fits.drop(columns=[c for c in fits if c.startswith("parameters")]), snakemake.output.fits)
