"""Count the visterms of every image of the manifest."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_table, write_csr
    from lookalike.features.codebook import count_visterms

    counts = count_visterms(
        snakemake.input.blocks,
        np.load(snakemake.input.codebook),
        n_rows=len(read_table(snakemake.input.manifest)),
    )
    write_csr(counts, snakemake.output[0])
