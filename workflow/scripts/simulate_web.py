"""Simulate a query log and the visterms of its images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_csr
    from lookalike.data.web_simulation import WebSimulation

    params, output = snakemake.params.settings, snakemake.output
    simulation = WebSimulation(**params["simulation"], seed=params["painting_seed"])
    log = simulation.query_log()
    log.save(output.log)
    simulation.write_images(output.images)
    write_csr(simulation.visterms(0, simulation.n_images), output.visterms)
    print(f"{simulation.n_images:,} images, {log.n_queries:,} queries")
