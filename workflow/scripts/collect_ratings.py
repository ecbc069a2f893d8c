"""Read the raters' files, or simulate a panel where there is none, and make the numbers of the study."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.studies.human.collect import RATERS_OF_JMLR, RATERS_OF_NIPS, read_ratings, simulated_panel
    from lookalike.studies.human.questionnaire import read_plan
    from lookalike.studies.human.statistics import rating_metrics

    given, params = snakemake.input, snakemake.params.settings
    plan, raters = read_plan(given.plan), list(given.raters)
    if raters:
        ratings = of_jmlr = read_ratings(raters, plan)
    else:
        print("no rater's file is there: the panel is simulated")
        labels = read_table(given.manifest).set_index("image_id")["label"]
        seed = integer_seed(params["seed"], "simulated_panel")
        ratings, of_jmlr = (simulated_panel(plan, labels, n, seed=seed) for n in (RATERS_OF_NIPS, RATERS_OF_JMLR))
    write_table(ratings, snakemake.output.ratings)
    write_table(rating_metrics(of_jmlr, **params["run"]), snakemake.output.metrics)
    write_table(rating_metrics(ratings, **params["run"]), snakemake.output.nips)
