"""Simulate a query log and the visterms of its images, and hold out whole queries of those that are learned from."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.web_simulation import WebSimulation
    from lookalike.features.visterm_store import VistermStore
    from lookalike.studies.web.settings import HeldOutLog
    from lookalike.studies.web.validation import hold_out_validation, images_of_part

    params, output = snakemake.params.settings, snakemake.output
    simulation = WebSimulation(**params["simulation"], seed=params["painting_seed"])
    log, n_shards = simulation.query_log(), params["n_shards"]
    log.save(output.log)
    simulation.write_images(output.images)
    shards = [Path(output.visterms, f"shard-{shard:03d}") for shard in range(n_shards)]
    for shard, folder in enumerate(shards):
        simulation.write_shard(shard, n_shards, folder)
    training, store = images_of_part(read_table(output.images), "train"), VistermStore(shards, params["words"])
    seeds = [integer_seed(params["seed"], "web", name) for name in ("held_out", "validation_queries")]
    given = log, training, store, HeldOutLog(**params["held_out"]), output.rows
    rows, held_out = hold_out_validation(*given, theta=params["theta"], seeds=seeds)
    held_out.save(output.validation)
    print(f"{simulation.n_images:,} images, {simulation.n_queries:,} queries")
    print(
        f"{len(rows):,} images to learn from, {held_out.rows.shape[0]:,} held out, {len(held_out.queries):,} query them"
    )
