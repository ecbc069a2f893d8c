"""Write the HTML report of whatever results/ holds, and which exhibits have failed."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import replacing
    from lookalike.report.provenance import read_jobs
    from lookalike.report.results import Results
    from lookalike.report.site import failures, write_report

    folder = Path(snakemake.output.failed).parent
    results = Results(folder.parent)
    write_report(results, read_jobs("logs"), folder, configuration=snakemake.params.configuration)
    with replacing(snakemake.output.failed) as part:
        part.write_text(failures(results), encoding="utf-8")
