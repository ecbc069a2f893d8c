"""Draw tables or figures of a web study, ours beside the printed numbers, all in one process."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table
    from lookalike.exhibits.reference import load
    from lookalike.exhibits.web_catalogue import WebNumbers, write_web_exhibits
    from lookalike.exhibits.web_context import web_context

    files = {name: str(snakemake.input[name]) for name in WebNumbers.__dataclass_fields__ if snakemake.input.get(name)}
    numbers = {name: read_table(file) for name, file in files.items()}
    write_web_exhibits(
        snakemake.params.exhibits,
        numbers=WebNumbers(**numbers),
        context=web_context(snakemake.params.context, numbers["fits"], numbers["counts"]),
        reference=load(snakemake.input.reference),
        folder=Path(snakemake.output[0]).parents[1],
        sources={name: [file] for name, file in files.items()},
    )
