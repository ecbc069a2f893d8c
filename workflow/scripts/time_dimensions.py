"""Time the diagonal learners against the number of words, on simulated rows."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_table
    from lookalike.studies.landmark.dimensions import time_learners

    settings, learning = snakemake.params.settings, snakemake.params.learning
    timed = time_learners(
        snakemake.params.specs,
        n_positives=learning["positives"],
        n_negatives=learning["negatives"],
        nonzeros=settings["nonzeros"],
        repeats=settings["repeats"],
        seed=snakemake.params.seed,
        time_limit=settings["time_limit"],
    )
    print(timed.to_string())
    write_table(timed, snakemake.output[0])
