"""Count the words of every query that is a whole image: the rows of its images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_csr, read_table, write_csr

    queries = read_table(snakemake.input.queries)
    write_csr(read_csr(snakemake.input.counts)[queries["image_id"].to_numpy()], snakemake.output[0])
