"""List a data set's exhibits with their captions, and its headline numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table, replacing
    from lookalike.exhibits.context import study_context
    from lookalike.exhibits.write import headline, write_index

    metrics, fits = (
        read_table(snakemake.input[name]) if snakemake.input.get(name) else None for name in ("metrics", "fits")
    )
    context = study_context(snakemake.params.context, fits)
    lines = headline(metrics, context)
    folder = Path(snakemake.output.index).parent
    dropped = {
        Path(file).name.removesuffix("-dropped.csv"): read_table(file) for file in snakemake.input.get("dropped", [])
    }
    write_index(folder, title=context.title, headline=lines, left_out=dropped)
    with replacing(snakemake.output.headline) as part:
        part.write_text(f"{lines}Exhibits: {snakemake.output.index}\n", encoding="utf-8")
