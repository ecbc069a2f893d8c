"""Draw one shard of a synthetic data set of landmarks; the first one writes the ground truth too."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.synthetic_landmarks import SyntheticLandmarks, write_ground_truth_files, write_images

    settings, shard = snakemake.params.settings, int(snakemake.wildcards.shard)
    spec = SyntheticLandmarks.from_settings(settings, snakemake.params.seed)
    written = write_images(spec, snakemake.params.folder, shard, snakemake.params.n_shards)
    if shard == 0:
        write_ground_truth_files(spec, snakemake.params.ground_truth)
    write_json({"synthetic": True, "settings": settings, "images": written}, snakemake.output[0])
