"""Put the numbers of every run of a study into its one table."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.studies.metrics import gather

    gather(snakemake.input, snakemake.output[0])
