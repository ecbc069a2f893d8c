"""Read a folder of published visterm counts to the manifest, the pool and the counts of one representation."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_csr, write_table
    from lookalike.data.visterm_folder import read_visterm_folder

    manifest, pool, counts = read_visterm_folder(snakemake.params.folder, snakemake.params.words)
    write_table(manifest, snakemake.output.manifest)
    write_table(pool, snakemake.output.pool)
    write_csr(counts, snakemake.output.counts)
