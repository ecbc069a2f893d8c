"""List a web study's exhibits with their captions, and its headline numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table, replacing
    from lookalike.exhibits.web_catalogue import web_headline
    from lookalike.exhibits.web_context import web_context
    from lookalike.exhibits.write import write_index

    precision, fits, counts = (read_table(snakemake.input[name]) for name in ("precision", "fits", "counts"))
    context = web_context(snakemake.params.context, fits, counts)
    lines = web_headline(precision, fits, context)
    write_index(Path(snakemake.output.index).parent, title=context.title, headline=lines)
    with replacing(snakemake.output.headline) as part:
        part.write_text(f"{lines}Exhibits: {snakemake.output.index}\n", encoding="utf-8")
