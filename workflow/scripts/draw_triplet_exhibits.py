"""Draw tables and figures of a fine-grained study, ours beside the printed numbers, all in one process."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table
    from lookalike.exhibits.reference import load
    from lookalike.exhibits.triplet_catalogue import TripletNumbers, write_triplet_exhibits
    from lookalike.exhibits.triplet_context import triplet_context

    files = {
        name: str(snakemake.input[name])
        for name in ("intervals", "contrasts", "fits", "curves", "claims", "pool")
        if snakemake.input.get(name)
    }
    numbers = {name: read_table(file) for name, file in files.items()}
    pool = numbers.pop("pool", None)
    write_triplet_exhibits(
        snakemake.params.exhibits,
        numbers=TripletNumbers(**numbers),
        context=triplet_context(snakemake.params.context, numbers.get("intervals"), numbers.get("fits"), pool),
        reference=load(snakemake.input.reference),
        folder=Path(snakemake.output[0]).parents[1],
        sources={name: [file] for name, file in files.items()},
    )
