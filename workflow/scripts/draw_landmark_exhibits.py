"""Draw tables or figures of a landmark study, ours beside the printed numbers, all in one process."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_json, read_table
    from lookalike.exhibits.landmark_catalogue import LandmarkNumbers, write_landmark_exhibits
    from lookalike.exhibits.landmark_context import landmark_context
    from lookalike.exhibits.landmark_montage import MontageMaterial
    from lookalike.exhibits.reference import load
    from lookalike.studies.landmark.files import read_top_images

    given = snakemake.input
    names = [name for name in ("metrics", "fits", "lambda_sweep", "dimensions", "claims") if given.get(name)]
    numbers = {name: read_table(given[name]) for name in names}
    sources = {name: [str(given[name])] for name in names}
    if given.get("ranks"):
        numbers["montage"] = MontageMaterial(
            representation=snakemake.params.montage,
            root=Path(read_json(given.images)["root"]),
            **{name: read_table(given[name]) for name in ("manifest", "queries", "relevance")},
            results=read_top_images(given.ranks),
        )
        sources["montage"] = [str(given[name]) for name in ("images", "manifest", "queries", "relevance")]
        sources["montage"] += map(str, given.ranks)
    write_landmark_exhibits(
        snakemake.params.exhibits,
        numbers=LandmarkNumbers(**numbers),
        context=landmark_context(snakemake.params.context, numbers.get("fits")),
        reference=load(given.reference),
        folder=Path(snakemake.output[0]).parents[1],
        sources=sources,
    )
