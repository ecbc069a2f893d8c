"""Bring all images to the size that networks take, and train the ConvNet path to tell the training categories apart."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from dataclasses import replace
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_table, write_array
    from lookalike.core.settings.networks import Sampling
    from lookalike.data.relevance import RelevanceData
    from lookalike.deep.runs import NetworkRun, run_pretraining, stored_pixels
    from lookalike.deep.settings import NetworkSettings
    from lookalike.studies.finegrained.systems import system_and_seed, write_system

    params, stored = snakemake.params.settings, snakemake.output.pixels
    checkpoint_seconds = params["network"].pop("checkpoint_seconds")
    settings = NetworkSettings(**params["network"])
    pixels = stored_pixels(
        read_table(snakemake.input.manifest),
        params["images_folder"],
        size=settings.size,
        shift=settings.shift,
        n_threads=snakemake.threads,
        progress=progress_lines("images"),
    )
    write_array(pixels, stored)
    # a killed training goes on from its checkpoint
    run = NetworkRun(
        pixels=np.load(stored, mmap_mode="r"),
        relevance=RelevanceData.load(snakemake.input.relevance),
        pairs=read_table(snakemake.input.pairs),
        settings=settings,
        sampling=Sampling(**params["sampling"]),
        seed=params["seed"],
        n_threads=snakemake.threads,
        checkpoint_seconds=checkpoint_seconds,
        report=lambda line: print(line, flush=True),
    )
    checkpoints = []
    for name in dict.fromkeys(Path(file).parent.name for file in snakemake.output if file != stored):
        print(f"{name}:", flush=True)
        checkpoints.append(Path(stored).with_name("systems") / name / "checkpoint.pt")
        system, repeat = system_and_seed(name)
        own = replace(run, repeat=repeat, checkpoint=checkpoints[-1])
        result = run_pretraining(own, system)
        write_system(result, snakemake.output, model=result.save, filters=result.save_filters)
    # only now: the outputs of a job that was killed go, and what is finished comes back from its last checkpoint
    for checkpoint in checkpoints:
        checkpoint.unlink(missing_ok=True)
