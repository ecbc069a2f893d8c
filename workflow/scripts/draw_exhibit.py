"""Draw one table or figure, ours beside the printed numbers, and compare them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table
    from lookalike.exhibits.catalogue import Numbers
    from lookalike.exhibits.context import study_context
    from lookalike.exhibits.facts import study_facts
    from lookalike.exhibits.reference import load
    from lookalike.exhibits.write import write_exhibit

    tables = {
        name: read_table(snakemake.input[name]) if snakemake.input.get(name) else None
        for name in ("metrics", "curves", "fits", "comparison", "selections", "rankers", "bounds", "claims", "manifest")
    }
    context = study_context(snakemake.params.context, tables["fits"])
    manifest = tables.pop("manifest")
    facts = None if manifest is None else study_facts(manifest, tables["fits"], context)
    write_exhibit(
        Path(snakemake.output[0]).parent.name,
        Path(snakemake.output[0]).stem,
        numbers=Numbers(**tables, facts=facts),
        context=context,
        reference=load(snakemake.input.reference),
        folder=Path(snakemake.output[0]).parent,
        sources=[str(snakemake.input[name]) for name in (*tables, "manifest") if snakemake.input.get(name)],
    )
