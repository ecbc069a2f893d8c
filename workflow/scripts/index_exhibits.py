"""List a data set's exhibits with their captions, below its headline numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.exhibits.writing import write_index

    headline = Path(snakemake.input.headline).read_text(encoding="utf-8")
    write_index(Path(snakemake.output[0]).parent, title=snakemake.params.title, headline=headline)
