"""Describe the blocks of one shard of the manifest: raw LBP and colour histograms."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_json, read_table
    from lookalike.features.descriptors import describe_shard
    from lookalike.features.shards import save_shard, shard_of

    n_shards = snakemake.params.settings["n_shards"]
    rows = shard_of(read_table(snakemake.input.manifest), int(snakemake.wildcards.shard), n_shards)
    blocks = describe_shard(
        rows,
        read_json(snakemake.input.images)["root"],
        np.load(snakemake.input.palette),
        progress=progress_lines("images"),
    )
    save_shard(blocks, snakemake.output[0])
