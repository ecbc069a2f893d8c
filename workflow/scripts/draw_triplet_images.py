"""Draw one shard of a synthetic data set of triplets; the first one writes ratings and relevance too."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.synthetic_triplets import SyntheticTriplets, write_images, write_ratings

    settings, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    spec = SyntheticTriplets.from_settings(settings, snakemake.params.seed)
    written = write_images(spec, snakemake.params.folder, shard, snakemake.params.n_shards)
    if shard == 0:
        write_ratings(spec, snakemake.params.folder)
    write_json({"synthetic": True, "settings": settings, "images": written}, snakemake.output[0])
