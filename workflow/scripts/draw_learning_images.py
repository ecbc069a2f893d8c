"""Draw the positives and negatives that each landmark is learned from."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.studies.landmark.protocol import draw_learning_images

    manifest, params = read_table(snakemake.input.manifest), snakemake.params.settings
    drawn = draw_learning_images(
        read_table(snakemake.input.queries),
        read_table(snakemake.input.relevance),
        manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy(),
        params["landmarks"],
        **{name: params["learning"][name] for name in ("positives", "negatives", "draws")},
        seed=params["seed"],
    )
    write_table(drawn, snakemake.output[0])
