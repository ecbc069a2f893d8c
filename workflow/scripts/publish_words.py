"""Write the word counts of a landmark study as a folder that stands in for its photographs, without their names."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.data.visterm_folder import anonymous, small_counts, write_visterm_folder

    manifest = read_table(snakemake.input.manifest)
    # the codebook is learned from all of them
    in_pool = (manifest["status"] == "ok").to_numpy()
    counts = small_counts(read_csr(snakemake.input.counts))
    write_visterm_folder(Path(snakemake.output.manifest).parent, anonymous(manifest), in_pool, counts)
