"""Simulate the visterms of one shard of images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.data.web_simulation import WebSimulation

    params = snakemake.params.settings
    simulation = WebSimulation(**params["simulation"], seed=params["seed"])
    simulation.write_shard(int(snakemake.wildcards.shard), params["n_shards"], snakemake.output[0])
