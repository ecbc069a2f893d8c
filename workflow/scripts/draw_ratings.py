"""Draw one figure or table of the human evaluation, ours beside the printed numbers."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from dataclasses import replace
    from pathlib import Path

    from lookalike.core.files import read_table
    from lookalike.exhibits.context import study_context
    from lookalike.exhibits.rating_catalogue import write_rating_exhibit
    from lookalike.exhibits.rating_figures import rating_numbers
    from lookalike.exhibits.reference import load

    given, params = snakemake.input, snakemake.params
    context = study_context(params.context, None)
    write_rating_exhibit(
        *snakemake.wildcards.rated.split("/"),
        numbers=rating_numbers(read_table(given.ratings)) if given.get("ratings") else None,
        context=replace(
            context, subsets=tuple(subset for subset in context.subsets if subset.id == params.rated["subset"])
        ),
        reference=load(given.reference),
        fold=params.rated["fold"],
        folder=Path(snakemake.output[0]).parent,
        sources=[str(given.ratings)] if given.get("ratings") else [],
    )
