"""Keep what a run's data, machine, cost and main numbers were, in one small file."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import write_json
    from lookalike.report.provenance import read_jobs
    from lookalike.report.results import Results, run_summary

    dataset, command = Results("results")[snakemake.wildcards.dataset], snakemake.params.command
    folder, jobs = Path("results", dataset.id), read_jobs(Path("logs", dataset.id))
    write_json(run_summary(dataset, folder, jobs, command), snakemake.output[0])
