"""Draw one gallery: query images with the first images that OASIS finds, of one fold of one subset."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from dataclasses import replace
    from pathlib import Path

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.context import study_context
    from lookalike.exhibits.galleries import GalleryMaterial, write_gallery
    from lookalike.ranking.rankings import Rankings

    given, params = snakemake.input, snakemake.params
    context = study_context(params.context, None)
    material = None
    if given.get("ranks"):
        material = GalleryMaterial(
            root=Path(read_json(given.images)["root"]),
            manifest=read_table(given.manifest),
            rankings=Rankings.load(given.ranks),
        )
    write_gallery(
        *snakemake.wildcards.gallery.split("/"),
        material,
        replace(context, subsets=tuple(subset for subset in context.subsets if subset.id == params.rated["subset"])),
        fold=params.rated["fold"],
        folder=Path(snakemake.output[0]).parent,
        sources=[str(given[name]) for name in ("images", "manifest", "ranks") if given.get(name)],
    )
