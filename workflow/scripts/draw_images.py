"""Draw one shard of a synthetic data set, image by image, each from a random stream of its own."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import write_json
    from lookalike.data.synthetic import SyntheticCategories, write_images, write_odd_files

    settings, folder = snakemake.params.settings, Path(snakemake.params.folder)
    shard = int(snakemake.wildcards.shard)
    spec = SyntheticCategories.from_settings(settings, snakemake.params.seed)
    written = write_images(spec, folder, shard, snakemake.params.n_shards)
    if shard == 0:
        write_odd_files(spec, folder)
    write_json({"synthetic": True, "settings": settings, "images": written}, snakemake.output[0])
