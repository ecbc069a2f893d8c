"""Train OASIS rankers on a query log, one after the other; one that was killed goes on from its checkpoint."""

from lookalike.core.job_log import logged

with logged(snakemake, append=True):
    import shutil
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.query_log import QueryLog
    from lookalike.studies.web.protocol import CHECKPOINT, train_ranker, write_ranker
    from lookalike.studies.web.settings import HeldOutLog, LogLearning
    from lookalike.studies.web.training_images import TrainingRows, Validation, split_training

    given, params, threads = snakemake.input, snakemake.params.settings, snakemake.threads
    learning, held_out, seed = LogLearning(**params["learning"]), HeldOutLog(**params["held_out"]), params["seed"]
    log = QueryLog.load(given.log)
    learned, chosen = split_training(log, read_table(given.images), held_out, seed)
    rows, stream = TrainingRows(read_csr(given.visterms), learned), integer_seed(seed, "web", "validation_queries")
    drawn = {"theta": learning.theta, "n_threads": threads}
    validation = Validation.make(rows, log, chosen, held_out.queries, stream, **drawn)
    print(f"{len(rows):,} images to learn from, {len(chosen):,} held out, {len(validation.queries):,} query them")
    folders = {Path(file).parent.name: Path(file).parent for file in snakemake.output}
    for ranker, folder in folders.items():
        run, fit = train_ranker(
            log,
            rows,
            validation,
            learning,
            ranker,
            seed=seed,
            checkpoint=folder / CHECKPOINT,
            checkpoint_seconds=params["checkpoint_seconds"],
            report=lambda line: print(line, flush=True),
        )
        write_ranker(run, fit, folder, {"dataset": folder.parents[1].name})
        shutil.rmtree(folder / CHECKPOINT)
