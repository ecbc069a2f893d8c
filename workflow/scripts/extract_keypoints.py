"""Find and describe the SIFT keypoints of one shard of the manifest."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from lookalike.core.files import read_json, read_table
    from lookalike.core.settings.schema import SiftSettings
    from lookalike.features.keypoints import extract_shard
    from lookalike.features.shards import save_shard

    params = snakemake.params.settings
    keypoints = extract_shard(
        read_json(snakemake.input.images)["root"],
        read_table(snakemake.input.manifest),
        int(snakemake.wildcards.shard),
        params["n_shards"],
        SiftSettings(**params["keypoints"]),
        progress=progress_lines("images"),
    )
    print(f"{len(keypoints.descriptors)} keypoints in {len(keypoints.image_ids)} images")
    save_shard(keypoints, snakemake.output[0])
