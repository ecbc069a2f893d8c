"""Train OASIS rankers on a query log, one after the other; one that was killed goes on from its checkpoint."""

from lookalike.core.job_log import logged

with logged(snakemake, append=True):
    import shutil
    from pathlib import Path

    from lookalike.data.query_log import QueryLog
    from lookalike.studies.web.compact_rows import CompactRows
    from lookalike.studies.web.protocol import CHECKPOINT, train_ranker, write_ranker
    from lookalike.studies.web.settings import LogLearning
    from lookalike.studies.web.validation import Validation

    params, learning = snakemake.params.settings, LogLearning(**snakemake.params.settings["learning"])
    folders = {Path(file).parent.name: Path(file).parent for file in snakemake.output}
    for ranker, folder in folders.items():
        run, fit = train_ranker(
            QueryLog.load(snakemake.input.log),
            CompactRows(snakemake.input.rows),
            Validation.load(snakemake.input.validation, n_threads=snakemake.threads),
            learning,
            ranker,
            seed=params["seed"],
            checkpoint=folder / CHECKPOINT,
            checkpoint_seconds=params["checkpoint_seconds"],
            report=lambda line: print(line, flush=True),
        )
        write_ranker(run, fit, folder, {"dataset": snakemake.wildcards.dataset})
        shutil.rmtree(folder / CHECKPOINT)
