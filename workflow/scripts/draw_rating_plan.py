"""Choose the query images that are rated, and mix what OASIS retrieves for them with images without relevance."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.core.seeds import integer_seed
    from lookalike.ranking.rankings import Rankings
    from lookalike.studies.human.collect import refuse_answers_to_other_plans
    from lookalike.studies.human.plan import draw_rating_plan, retrieved_images, same_label, write_plan

    settings, rankings = snakemake.params.settings, Rankings.load(snakemake.input.ranks)
    neighbours = retrieved_images(rankings, settings["retrieved"])
    manifest = read_table(snakemake.input.manifest).set_index("image_id")
    shown = manifest.loc[rankings.query_ids]
    labels = shown["label"].to_numpy()
    plan = draw_rating_plan(
        rankings.query_ids,
        # with class labels, every image is relevant to the class it is of and to nothing else
        np.array([(labels == label).sum() - 1.0 for label in labels]),
        neighbours,
        rankings.query_ids,
        shown["path"].tolist(),
        same_label(rankings.query_ids, labels),
        seed=integer_seed(snakemake.params.seed, "ratings"),
        n_queries=settings["queries"],
        n_retrieved=settings["retrieved"],
        n_random=settings["random"],
        contents=shown["sha256"].tolist(),
    )
    refuse_answers_to_other_plans(snakemake.params.raters, plan)
    write_plan(plan, snakemake.output[0])
