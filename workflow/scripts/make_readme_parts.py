"""Make the numbers and the picture that README.md shows; `make readme` puts them there."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import replacing
    from lookalike.report.gallery import gallery_material
    from lookalike.report.provenance import read_jobs
    from lookalike.report.readme import readme_numbers, write_readme_picture
    from lookalike.report.results import Results

    results, jobs = Results("results"), read_jobs("logs")
    galleries = gallery_material(
        results.folder, configuration=snakemake.params.configuration, seed=snakemake.params.seed
    ).galleries
    write_readme_picture(next(shown for shown in galleries if shown.dataset == "demo"), snakemake.output.picture)
    whole = jobs.whole()
    made_with = (
        f"`make demo`: {whole.jobs} jobs, {whole.cpu_seconds / 60:.0f} minutes of processor time on "
        f"{', '.join(whole.processors)}; commit {', '.join(commit[:10] for commit in whole.commits)}"
    )
    datasets = [results[dataset] for dataset in snakemake.params.datasets]
    with replacing(snakemake.output.numbers) as part:
        part.write_text(readme_numbers(datasets, made_with), encoding="utf-8")
