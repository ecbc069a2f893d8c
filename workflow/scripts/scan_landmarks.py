"""Scan a data set's images of landmarks to its manifest: a row with a status and a reason for every file."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from lookalike.core.files import read_json, write_table, write_text
    from lookalike.data.scan import scan_photographs

    root = read_json(snakemake.input.images)["root"]
    manifest = scan_photographs(root, n_threads=snakemake.threads, progress=progress_lines("files"))
    print(manifest["status"].value_counts().to_string())
    write_table(manifest, snakemake.output.manifest)
    write_text(snakemake.params.listing + "\n", snakemake.output.listing)
