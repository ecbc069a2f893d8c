"""Hold out whole queries of the training images, and write the rows that are learned from and the held-out ones."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table
    from lookalike.data.query_log import QueryLog
    from lookalike.features.visterm_store import VistermStore
    from lookalike.studies.web.protocol import prepare_training
    from lookalike.studies.web.settings import HeldOutLog

    params = snakemake.params.settings
    rows, validation = prepare_training(
        QueryLog.load(snakemake.input.log),
        read_table(snakemake.input.images),
        VistermStore(snakemake.input.visterms, n_words=params["words"]),
        HeldOutLog(**params["held_out"]),
        theta=params["theta"],
        seed=params["seed"],
        rows_folder=snakemake.output.rows,
        validation_path=snakemake.output.validation,
    )
    held_out, queries = validation.rows.shape[0], len(validation.queries)
    print(f"{len(rows):,} images to learn from, {held_out:,} held out, {queries:,} query them")
