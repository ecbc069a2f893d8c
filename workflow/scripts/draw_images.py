"""Paint one shard of a set of synthetic categories, image by image, each from a random stream of its own."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.painted_categories import PaintedCategories, write_odd_files

    settings, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    recipe = PaintedCategories(**settings, seed=snakemake.params.seed)
    written = recipe.write_images(snakemake.params.folder, shard, snakemake.params.n_shards)
    if shard == 0:
        write_odd_files(recipe, snakemake.params.folder)
    write_json({"synthetic": True, "settings": settings, "images": written}, snakemake.output[0])
