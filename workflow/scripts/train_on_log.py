"""Train one OASIS ranker on a query log; a run that was killed goes on from its checkpoint."""

from lookalike.core.job_log import logged

with logged(snakemake, append=True):
    import shutil
    from pathlib import Path

    from lookalike.data.query_log import QueryLog
    from lookalike.learners.compact_rows import CompactRows
    from lookalike.studies.web.protocol import CHECKPOINT, train_ranker, write_ranker
    from lookalike.studies.web.validation import Validation

    folder = Path(snakemake.output[0]).parent
    run, fit = train_ranker(
        QueryLog.load(snakemake.input.log),
        CompactRows(snakemake.input.rows),
        Validation.load(snakemake.input.validation, n_threads=snakemake.threads),
        snakemake.params.settings,
        int(snakemake.wildcards.ranker),
        seed=snakemake.params.seed,
        n_threads=snakemake.threads,
        checkpoint=folder / CHECKPOINT,
        checkpoint_seconds=snakemake.params.checkpoint_seconds,
        report=lambda line: print(line, flush=True),
    )
    write_ranker(run, fit, folder, {"dataset": snakemake.wildcards.dataset})
    shutil.rmtree(folder / CHECKPOINT)
