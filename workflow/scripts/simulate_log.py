"""Simulate a query log: which images are relevant to which queries, and which are for training and for testing."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.data.web_simulation import WebSimulation

    params = snakemake.params.settings
    simulation = WebSimulation(**params["simulation"], seed=params["seed"])
    simulation.query_log().save(snakemake.output.log)
    simulation.write_images(snakemake.output.images)
    print(f"{simulation.n_images:,} images, {simulation.n_queries:,} queries")
