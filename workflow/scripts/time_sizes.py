"""Time learners up to their ends on simulated sets of some sizes, one after the other (JMLR Figure 4)."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import tempfile
    from pathlib import Path

    from lookalike.core.files import write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.web_simulation import WebSimulation
    from lookalike.studies.web.numbers import runtime_table
    from lookalike.studies.web.runtime import time_lmnn, time_oasis
    from lookalike.studies.web.settings import HeldOutLog, LmnnTimes, OasisTimes

    params = snakemake.params.settings
    for file in map(Path, snakemake.output):
        learner, size = file.stem.split("-")
        if learner == "lmnn":
            row = time_lmnn(int(size), LmnnTimes(**params["lmnn"]), seed=params["seed"])
        else:
            seed = integer_seed(params["seed"], "web", "simulation", int(size))
            simulation = WebSimulation(**params["simulation"] | {"n_images": int(size)}, seed=seed)
            timing, held_out = OasisTimes(**params["oasis"]), HeldOutLog(**params["held_out"])
            with tempfile.TemporaryDirectory() as folder:
                row = time_oasis(simulation, timing, held_out, seed=params["seed"], folder=folder, report=print)
        print(row, flush=True)
        write_table(runtime_table([row]), file)
