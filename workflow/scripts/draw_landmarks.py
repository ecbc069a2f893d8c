"""Paint one shard of a set of synthetic landmarks; the first one writes the ground truth too."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.ground_truth import write_ground_truth
    from lookalike.data.painted_landmarks import PaintedLandmarks

    params, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    recipe = PaintedLandmarks(**params["painted"], seed=params["seed"])
    written = recipe.write_images(params["folder"], shard, params["n_shards"])
    if shard == 0:
        write_ground_truth(params["ground_truth"], *recipe.ground_truth())
    write_json({"synthetic": True, "settings": params["painted"], "images": written}, snakemake.output[0])
