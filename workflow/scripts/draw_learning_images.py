"""Draw the positives and negatives that each landmark is learned from."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.studies.landmark.protocol import draw_learning_images

    manifest, learning = read_table(snakemake.input.manifest), snakemake.params.learning
    drawn = draw_learning_images(
        read_table(snakemake.input.queries),
        read_table(snakemake.input.relevance),
        manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy(),
        snakemake.params.landmarks,
        n_positives=learning["positives"],
        n_negatives=learning["negatives"],
        n_draws=learning["draws"],
        seed=snakemake.params.seed,
    )
    write_table(drawn, snakemake.output[0])
