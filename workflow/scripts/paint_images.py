"""Paint one shard of a data set that code makes, image by image; the first one writes what comes with them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.studies.recipes import recipe

    params, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    painted = recipe(params["kind"], params["painted"], params["seed"])
    written = painted.write_images(params["folder"], shard, params["n_shards"])
    if shard == 0:
        painted.write_beside(params["folder"])
    write_json({"synthetic": True, "settings": params["painted"], "images": written}, snakemake.output[0])
