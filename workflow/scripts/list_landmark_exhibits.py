"""List a landmark study's exhibits with their captions, and its headline numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table, replacing
    from lookalike.exhibits.landmark_catalogue import landmark_headline
    from lookalike.exhibits.landmark_context import landmark_context
    from lookalike.exhibits.write import write_index

    metrics, fits = (
        read_table(snakemake.input[name]) if snakemake.input.get(name) else None for name in ("metrics", "fits")
    )
    context = landmark_context(snakemake.params.context, fits)
    lines = landmark_headline(metrics, context)
    write_index(Path(snakemake.output.index).parent, title=context.title, headline=lines)
    with replacing(snakemake.output.headline) as part:
        part.write_text(f"{lines}Exhibits: {snakemake.output.index}\n", encoding="utf-8")
