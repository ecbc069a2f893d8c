"""Draw one shard of a synthetic data set, image by image, each from a random stream of its own."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from lookalike.datasets.synthetic import SyntheticCategories, write_images, write_odd_files
    from lookalike.files import write_json
    from lookalike.seeds import integer_seed

    settings = snakemake.params.settings
    shard = int(snakemake.wildcards.shard)
    spec = SyntheticCategories(
        n_classes=settings["classes"],
        images_per_class=settings["images_per_class"],
        n_clutter=settings["clutter_images"],
        width=settings["width"],
        height=settings["height"],
        difficulty=settings["difficulty"],
        seed=integer_seed(snakemake.params.seed, "datasets", snakemake.wildcards.dataset),
    )
    written = write_images(spec, snakemake.params.folder, shard, snakemake.params.n_shards)
    if shard == 0:
        write_odd_files(spec, snakemake.params.folder)
    write_json({"synthetic": True, "settings": settings, "images": written}, snakemake.output[0])
