"""Scan a data set's folder to its manifest: a row with a status and a reason for every file."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, write_table, write_text
    from lookalike.data.scan import scan_folder

    manifest = scan_folder(
        read_json(snakemake.input.images)["root"],
        clutter_labels=tuple(snakemake.params.settings["clutter"]),
        classes=snakemake.params.settings["classes"],
        n_threads=snakemake.threads,
        progress=progress_lines("files"),
    )
    print(pd.crosstab(manifest["label"], manifest["status"], margins=True).to_string())
    write_table(manifest, snakemake.output.manifest)
    write_text(snakemake.params.listing + "\n", snakemake.output.listing)
