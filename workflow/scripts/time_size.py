"""Time one learner up to its end on a simulated set of one size (JMLR Figure 4)."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import tempfile

    from lookalike.core.files import write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.datasets.web_simulation import WebSimulation
    from lookalike.studies.web.numbers import runtime_table
    from lookalike.studies.web.runtime import time_lmnn, time_oasis

    params, size = snakemake.params, int(snakemake.wildcards.size)
    if snakemake.wildcards.learner == "lmnn":
        row = time_lmnn(size, params.settings, seed=params.seed)
    else:
        seed = integer_seed(params.seed, "web", "simulation", size)
        simulation = WebSimulation.from_settings(params.simulation | {"n_images": size}, seed)
        with tempfile.TemporaryDirectory() as folder:
            row = time_oasis(simulation, params.settings, seed=params.seed, folder=folder, report=print)
    print(row)
    write_table(runtime_table([row]), snakemake.output[0])
