"""Write the HTML report of whatever results/ holds, and which exhibits could not be drawn or shown."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.report.provenance import read_jobs
    from lookalike.report.results import Results
    from lookalike.report.site import write_report

    folder = Path(snakemake.output.failed).parent
    write_report(Results(folder.parent), read_jobs("logs"), folder, configuration=snakemake.params.configuration)
