"""Read the raters' files, or simulate a panel where there is none, and make the numbers of the study."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.exhibits.results import write_results
    from lookalike.studies.human.questionnaire import read_plan
    from lookalike.studies.human.ratings import read_ratings, results_of, simulated_panel

    given, plan = snakemake.input, read_plan(snakemake.input.plan)
    if given.raters:
        ratings = read_ratings(given.raters, plan)
    else:
        print("no rater's file is there: the panel is simulated")
        labels = read_table(given.manifest).set_index("image_id")["label"]
        seed = integer_seed(snakemake.params.settings["seed"], "simulated_panel")
        ratings = simulated_panel(plan, labels, seed=seed)
    write_table(ratings, snakemake.output.ratings)
    write_results(results_of(ratings), snakemake.output.results)
