"""Write the ledger: every printed number and claim of the papers beside ours."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_json, write_table
    from lookalike.core.tables import read_cells
    from lookalike.exhibits.claims_table import read_claims
    from lookalike.exhibits.printed import COLUMNS
    from lookalike.report.ledger import ledger, numbers_at_hand
    from lookalike.report.results import Results

    given = snakemake.input
    printed = read_cells(given.printed, COLUMNS, exact=True).to_dict("records")
    runs = read_cells(given.runs, ("exhibit", "run", "change"), exact=True).to_dict("records")
    numbers = numbers_at_hand(Results("results"), map(read_json, given.kept))
    claims = read_claims(Path(given.claims))
    write_table(ledger(numbers, claims, printed, runs, snakemake.params.demo), snakemake.output[0])
