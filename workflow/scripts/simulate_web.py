"""Simulate a query log and the visterms of its images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.data.web_simulation import WebSimulation

    params, output = snakemake.params.settings, snakemake.output
    simulation = WebSimulation(**params["simulation"], seed=params["painting_seed"])
    n_shards = params["n_shards"]
    simulation.query_log().save(output.log)
    simulation.write_images(output.images)
    for shard in range(n_shards):
        simulation.write_shard(shard, n_shards, Path(output.visterms, f"shard-{shard:03d}"))
    print(f"{simulation.n_images:,} images, {simulation.n_queries:,} queries")
