"""Put what each fit chose and how long it took into one table; times live here and nowhere else."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, write_table

    fits = pd.json_normalize([read_json(file) for file in snakemake.input], sep="_")
    write_table(fits.drop(columns=[c for c in fits if c.startswith("parameters")]), snakemake.output[0])
