"""Draw what is made of images in a fine-grained study: sample triplets, the sampler, filters and ranking examples."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.datasets.relevance import RelevanceData
    from lookalike.exhibits import triplet_pictures as pictures
    from lookalike.exhibits.triplet_catalogue import write_triplet_picture
    from lookalike.exhibits.triplet_context import PAPER, triplet_context

    given, sampling = snakemake.input, snakemake.params.sampling
    context = triplet_context(snakemake.params.context)
    manifest, triplets = read_table(given.manifest), read_table(given.triplets)
    material = pictures.PictureMaterial(Path(snakemake.params.folder), manifest, triplets)
    relevance = RelevanceData.load(given.relevance)
    sampler = pictures.sampler_drawing(
        material, relevance, context, settings=sampling, random_state=snakemake.params.seed
    )
    filters = pictures.first_layer_filters(dict(np.load(given.filters)) if given.get("filters") else None, context)
    chosen = pictures.choose_queries(read_table(given.outcomes), triplets)
    distances = {Path(file).parent.name: np.load(file) for file in given.distances}
    rankings = pictures.rankings_of(read_table(given.pairs), distances, chosen)
    examples = pictures.ranking_examples(material, rankings, chosen, context)
    sample = pictures.sample_triplets(material, context)
    drawn = {
        "fig1": (sample, pictures.caption_of_triplets(sample, context)),
        "fig4": (sampler, pictures.caption_of_sampler(sampler, context, sampling)),
        "fig5": (filters, pictures.caption_of_filters(filters, context)),
        "fig7": (examples, pictures.caption_of_rankings(examples, context)),
    }
    for name, (plot, caption) in drawn.items():
        folder = Path(snakemake.output[0]).parents[1]
        write_triplet_picture(f"{PAPER}/{name}", plot, caption=caption, context=context, folder=folder)
