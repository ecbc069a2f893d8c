"""Find a data set's photographs of landmarks, and scan them: a row with a status and a reason for every file."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from lookalike.core.files import write_json, write_table, write_text
    from lookalike.data.archives import locate
    from lookalike.data.scan import scan_photographs

    located = locate(**snakemake.params.settings, archives=snakemake.input.archives)
    write_json(located, snakemake.output.images)
    progress = progress_lines("files")
    manifest = scan_photographs(located["root"], n_threads=snakemake.threads, progress=progress)
    print(manifest["status"].value_counts().to_string())
    write_table(manifest, snakemake.output.manifest)
    write_text(snakemake.params.listing + "\n", snakemake.output.listing)
