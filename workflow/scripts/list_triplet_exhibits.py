"""List a fine-grained study's exhibits with their captions, and its headline numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table, replacing
    from lookalike.exhibits.triplet_catalogue import triplet_headline
    from lookalike.exhibits.triplet_context import triplet_context
    from lookalike.exhibits.write import write_index

    intervals, fits, pool = (
        read_table(snakemake.input[name]) if snakemake.input.get(name) else None
        for name in ("intervals", "fits", "pool")
    )
    context = triplet_context(snakemake.params.context, intervals, fits, pool)
    lines = triplet_headline(intervals, context)
    write_index(Path(snakemake.output.index).parent, title=context.title, headline=lines)
    with replacing(snakemake.output.headline) as part:
        part.write_text(f"{lines}Exhibits: {snakemake.output.index}\n", encoding="utf-8")
