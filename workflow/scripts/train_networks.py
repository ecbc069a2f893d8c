"""Fine-tune networks by the ranking loss, from the pre-trained path; a killed one goes on from its checkpoint."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.core.settings.networks import Sampling
    from lookalike.data.relevance import RelevanceData
    from lookalike.deep.runs import NetworkRun, run_ranking
    from lookalike.deep.settings import NetworkSettings
    from lookalike.studies.finegrained.systems import (
        CONVNET,
        SINGLE,
        system_and_seed,
        training_name,
        write_system,
    )

    params = snakemake.params.settings
    checkpoint_seconds = params["network"].pop("checkpoint_seconds")
    pixels = np.load(snakemake.input.pixels, mmap_mode="r")
    relevance, pairs = RelevanceData.load(snakemake.input.relevance), read_table(snakemake.input.pairs)
    checkpoints, folder = [], Path(snakemake.input.pixels).with_name("systems")
    for name, sampling in params["samplings"].items():
        print(f"{name}:", flush=True)
        system, repeat = system_and_seed(name)
        pretrained = folder / training_name(CONVNET, repeat) / "model.lookalike"
        run = NetworkRun(
            pixels=pixels,
            relevance=relevance,
            pairs=pairs,
            settings=NetworkSettings(**params["network"]),
            sampling=Sampling(**sampling),
            seed=params["seed"],
            repeat=repeat,
            n_threads=snakemake.threads,
            checkpoint=folder / name / "checkpoint.pt",
            checkpoint_seconds=checkpoint_seconds,
            report=lambda line: print(line, flush=True),
        )
        checkpoints.append(run.checkpoint)
        result = run_ranking(run, system, pretrained, multiscale=system != SINGLE)
        writers = {"model": result.save, "filters": result.save_filters}
        write_system(result, snakemake.output, **writers)
    # only now: the outputs of a job that was killed go, and what is finished comes back from its last checkpoint
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)
