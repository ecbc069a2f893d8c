"""Put the tidy tables of every run of a data set into one."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_table, write_table

    table = pd.concat([read_table(file) for file in snakemake.input], ignore_index=True)
    write_table(table, snakemake.output[0])
