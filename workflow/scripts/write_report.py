"""Write the HTML report of whatever results/ holds, the ledger, and which exhibits could not be drawn or shown."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_json, write_table
    from lookalike.core.tables import read_cells
    from lookalike.exhibits.claims import read_claims
    from lookalike.exhibits.printed import COLUMNS
    from lookalike.report.ledger import ledger, numbers_at_hand
    from lookalike.report.provenance import read_jobs
    from lookalike.report.results import Results
    from lookalike.report.site import write_report

    given, params, results = snakemake.input, snakemake.params, Results("results")
    printed = read_cells(given.printed, COLUMNS, exact=True).to_dict("records")
    runs = read_cells(given.runs, ("exhibit", "run", "change"), exact=True).to_dict("records")
    numbers = numbers_at_hand(results, map(read_json, given.kept))
    rows = ledger(numbers, read_claims(Path(given.claims)), printed, runs, params.demo)
    write_table(rows, snakemake.output.ledger)
    about = {"configuration": params.configuration, "ledger": rows}
    write_report(results, read_jobs("logs"), Path(snakemake.output.failed).parent, **about)
