"""Paint one shard of a set of synthetic triplets; the first one writes ratings and relevance too."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.painted_triplets import PaintedTriplets, write_ratings

    params, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    recipe = PaintedTriplets(**params["painted"], seed=params["seed"])
    written = recipe.write_images(params["folder"], shard, params["n_shards"])
    if shard == 0:
        write_ratings(recipe, params["folder"])
    write_json({"synthetic": True, "settings": params["painted"], "images": written}, snakemake.output[0])
