"""Put the training curves of all networks into one table."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import pandas as pd

    from lookalike.core.files import read_table, write_table

    curves = [read_table(file).assign(system=Path(file).parent.name) for file in snakemake.input]
    write_table(pd.concat(curves, ignore_index=True), snakemake.output[0])
