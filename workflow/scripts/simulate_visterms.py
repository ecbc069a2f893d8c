"""Simulate the visterms of one shard of images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.data.web_simulation import WebSimulation

    simulation = WebSimulation(**snakemake.params.settings, seed=snakemake.params.seed)
    simulation.write_shard(int(snakemake.wildcards.shard), snakemake.params.n_shards, snakemake.output[0])
