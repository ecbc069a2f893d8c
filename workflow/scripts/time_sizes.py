"""Time learners up to their ends on simulated sets of some sizes, one after the other (JMLR Figure 4)."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.seeds import integer_seed
    from lookalike.data.web_simulation import WebSimulation
    from lookalike.exhibits.results import write_results
    from lookalike.studies.web.runtime import time_lmnn, time_oasis
    from lookalike.studies.web.settings import HeldOutLog, LmnnTimes, OasisTimes

    params, learners = snakemake.params.settings, snakemake.params.settings["learners"]
    for file in map(Path, snakemake.output):
        learner, size = file.stem.split("-")
        if learner == "lmnn":
            rows = time_lmnn(int(size), LmnnTimes(**learners["lmnn"]["timing"]), seed=params["seed"])
        else:
            seed = integer_seed(params["seed"], "web", "simulation", int(size))
            simulation = WebSimulation(**learners["oasis"]["simulation"] | {"n_images": int(size)}, seed=seed)
            timing, held_out = OasisTimes(**learners["oasis"]["timing"]), HeldOutLog(**learners["oasis"]["held_out"])
            rows = time_oasis(simulation, timing, held_out, seed=params["seed"], report=print)
        print(rows, flush=True)
        write_results(rows, file)
