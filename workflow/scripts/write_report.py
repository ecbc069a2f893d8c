"""Write the HTML report of whatever results/ holds."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.job_log import progress_lines
    from lookalike.report.provenance import read_jobs
    from lookalike.report.results import Results
    from lookalike.report.site import write_report

    told = progress_lines("pages")
    folder = Path(snakemake.output[0]).parent
    written = write_report(
        Results(folder.parent),
        read_jobs("logs"),
        folder,
        configuration=snakemake.params.configuration,
        seed=snakemake.params.seed,
        progress=lambda done, total, page: told(done, total),
    )
    assert {str(path) for path in written} == set(snakemake.output)
