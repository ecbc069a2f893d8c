"""Make the numbers and the picture that README.md shows; `make readme` puts them there."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import replacing
    from lookalike.report.provenance import read_jobs
    from lookalike.report.readme import readme_numbers, write_readme_picture
    from lookalike.report.results import Results

    results, jobs = Results("results"), read_jobs("logs")
    gallery = next(one for one in results.exhibits(dataset="demo") if one.entries)
    write_readme_picture(gallery, snakemake.output.picture)
    whole = jobs.whole
    made_with = (
        f"`make demo`: {len(whole.jobs)} jobs, {whole.cpu_seconds / 60:.0f} minutes of processor time on "
        f"{', '.join(whole.processors)}; commit {', '.join(commit[:10] for commit in whole.commits)}"
    )
    with replacing(snakemake.output.numbers) as part:
        part.write_text(readme_numbers(results, made_with), encoding="utf-8")
