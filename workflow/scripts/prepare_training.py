"""Hold out whole queries of the training images, and write the rows that are learned from and the held-out ones."""

from lookalike.workflow_log import logged

with logged(snakemake):
    from lookalike.datasets.query_log import QueryLog
    from lookalike.evaluation.web_runs import prepare_training
    from lookalike.features.visterm_store import VistermStore
    from lookalike.files import read_table

    rows, validation = prepare_training(
        QueryLog.load(snakemake.input.log),
        read_table(snakemake.input.images),
        VistermStore(snakemake.input.visterms, n_words=snakemake.params.words),
        snakemake.params.settings,
        theta=snakemake.params.theta,
        seed=snakemake.params.seed,
        rows_folder=snakemake.output.rows,
        validation_path=snakemake.output.validation,
    )
    print(f"{len(rows):,} images to learn from, {validation.n_images:,} held out, {validation.n_queries:,} query them")
