"""Make README.md with the numbers of a run, and its picture; `make readme` puts both in place."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import replacing
    from lookalike.report.provenance import read_jobs
    from lookalike.report.readme import readme_numbers, replace_between_marks, write_readme_picture
    from lookalike.report.results import Results, jobs_behind

    results = Results("results")
    jobs = jobs_behind(results.exhibits(), read_jobs("logs"))
    gallery = next(one for one in results.exhibits(dataset="demo") if one.entries)
    write_readme_picture(gallery, snakemake.output.picture)
    whole = jobs.whole
    made_with = (
        f"`make demo`: {len(whole.jobs)} jobs, {whole.total('cpu_seconds') / 60:.0f} minutes of processor time on "
        f"{', '.join(whole.distinct('processor'))}; commit {', '.join(name[:10] for name in whole.distinct('commit'))}"
    )
    readme = Path(snakemake.input.readme).read_text(encoding="utf-8")
    with replacing(snakemake.output.readme) as part:
        part.write_text(replace_between_marks(readme, readme_numbers(results, made_with)), encoding="utf-8")
