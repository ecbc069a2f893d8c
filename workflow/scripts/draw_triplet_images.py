"""Paint one shard of a set of synthetic triplets; the first one writes ratings and relevance too."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.painted_triplets import PaintedTriplets, write_ratings

    settings, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    recipe = PaintedTriplets(**settings, seed=snakemake.params.seed)
    written = recipe.write_images(snakemake.params.folder, shard, snakemake.params.n_shards)
    if shard == 0:
        write_ratings(recipe, snakemake.params.folder)
    write_json({"synthetic": True, "settings": settings, "images": written}, snakemake.output[0])
