"""Decide the claims of all studies together: results/claims.csv, which all who tell of claims read."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table, write_text
    from lookalike.exhibits.claims_table import claims_markdown, decided

    claims = decided(map(read_table, [*snakemake.input, *snakemake.params.others]))
    write_table(claims, snakemake.output.csv)
    write_text(claims_markdown(claims), snakemake.output.md)
