"""Keep what a run's data, machine, cost and main numbers were, and what it says of each claim, in two small files."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import pandas as pd

    from lookalike.core.files import read_table, write_json, write_table
    from lookalike.exhibits.claims import COLUMNS
    from lookalike.report.kept import run_summary
    from lookalike.report.provenance import read_jobs
    from lookalike.report.results import Results

    dataset, command = Results("results")[snakemake.wildcards.dataset], snakemake.params.command
    folder, jobs = Path("results", dataset.id), read_jobs(Path("logs", dataset.id))
    claims = pd.concat([pd.DataFrame(columns=list(COLUMNS)), *map(read_table, snakemake.input.tested)])
    write_json(run_summary(dataset, folder, jobs, command, claims.to_dict("records")), snakemake.output.summary)
    write_table(claims, snakemake.output.claims)
