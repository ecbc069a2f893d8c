"""Decide the claims of all studies together: results/claims.csv, which all who tell of claims read."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import pandas as pd

    from lookalike.core.files import read_table, write_table, write_text
    from lookalike.exhibits.claims import claims_markdown, claims_of, decided, read_claims

    tested = map(read_table, [*snakemake.input.tested, *snakemake.params.others])
    kept = [pd.DataFrame(read_claims(Path(path)), dtype=str) for path in snakemake.input.kept]
    claims = decided(tested, kept, claims_of(snakemake.params.claims), snakemake.params.commands.__getitem__)
    write_table(claims, snakemake.output.csv)
    write_text(claims_markdown(claims), snakemake.output.md)
