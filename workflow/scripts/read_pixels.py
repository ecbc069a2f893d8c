"""Bring all images to the size that networks take, with a margin for random shifts."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from lookalike.core.files import read_table, write_array
    from lookalike.deep.runs import stored_pixels

    pixels = stored_pixels(
        read_table(snakemake.input.manifest),
        snakemake.params.folder,
        **snakemake.params.settings,
        n_threads=snakemake.threads,
        progress=progress_lines("images"),
    )
    write_array(pixels, snakemake.output[0])
