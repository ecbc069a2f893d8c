"""Make README.md with the numbers of a run, and its picture; `make readme` puts both in place."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import write_text
    from lookalike.report.provenance import read_jobs
    from lookalike.report.readme import readme_numbers, replace_between_marks, write_readme_picture
    from lookalike.report.results import Results

    results = Results("results")
    jobs = read_jobs("logs").jobs_of([dataset.id for dataset in results.datasets])
    gallery = next(exhibit for exhibit in results.exhibits(dataset="demo") if exhibit.entries)
    write_readme_picture(gallery, snakemake.output.picture)
    origin = (
        f"`make demo`: {len(jobs)} jobs, {jobs.total('cpu_seconds') / 60:.0f} minutes of processor time on "
        f"{', '.join(jobs.distinct('processor'))}; commit {', '.join(name[:10] for name in jobs.distinct('commit'))}"
    )
    readme = Path(snakemake.input.readme).read_text(encoding="utf-8")
    write_text(replace_between_marks(readme, readme_numbers(results, origin)), snakemake.output.readme)
