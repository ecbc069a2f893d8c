"""Put rows of results of all codebooks into one table."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import write_table
    from lookalike.exhibits.results import read_results

    write_table(pd.concat(map(read_results, snakemake.input), ignore_index=True), snakemake.output[0])
