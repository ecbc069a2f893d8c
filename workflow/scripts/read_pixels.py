"""Bring all images to the size that networks take, with a margin for random shifts."""

from lookalike.workflow_log import logged, progress_lines

with logged(snakemake):
    from lookalike.deep.runs import stored_pixels
    from lookalike.files import read_table, write_array

    pixels = stored_pixels(
        read_table(snakemake.input.manifest),
        snakemake.params.folder,
        **snakemake.params.settings,
        n_threads=snakemake.threads,
        progress=progress_lines("images"),
    )
    write_array(pixels, snakemake.output[0])
