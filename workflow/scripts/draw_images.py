"""Paint one shard of a set of synthetic categories, image by image, each from a random stream of its own."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.painted_categories import PaintedCategories, write_odd_files

    params, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    recipe = PaintedCategories(**params["painted"], seed=params["seed"])
    written = recipe.write_images(params["folder"], shard, params["n_shards"])
    if shard == 0:
        write_odd_files(recipe, params["folder"])
    write_json({"synthetic": True, "settings": params["painted"], "images": written}, snakemake.output[0])
