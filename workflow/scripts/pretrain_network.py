"""Train the ConvNet path to tell the training categories apart; goes on from its checkpoint after a kill."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.data.relevance import RelevanceData
    from lookalike.deep.runs import NetworkRun, run_pretraining
    from lookalike.studies.finegrained.files import write_system

    run = NetworkRun(
        pixels=np.load(snakemake.input.pixels, mmap_mode="r"),
        relevance=RelevanceData.load(snakemake.input.relevance),
        pairs=read_table(snakemake.input.pairs),
        settings=snakemake.params.settings,
        sampling=snakemake.params.sampling,
        seed=snakemake.params.seed,
        n_threads=snakemake.threads,
        checkpoint=Path(snakemake.output[0]).with_name("checkpoint.pt"),
        checkpoint_seconds=snakemake.params.checkpoint_seconds,
        report=lambda line: print(line, flush=True),
    )
    result = run_pretraining(run)
    write_system(result, snakemake.output, model=result.save, filters=result.save_filters)
    run.checkpoint.unlink(missing_ok=True)
