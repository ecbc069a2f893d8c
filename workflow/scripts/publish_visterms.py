"""Write the visterm counts of a data set as a folder that stands in for its images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_csr, read_table
    from lookalike.data.visterm_folder import write_visterm_folder

    manifest = read_table(snakemake.input.manifest)
    write_visterm_folder(
        Path(snakemake.output.manifest).parent,
        manifest,
        manifest["image_id"].isin(read_table(snakemake.input.pool)["image_id"]).to_numpy(),
        read_csr(snakemake.input.counts),
        np.load(snakemake.input.palette),
    )
