"""Read the raters' files; where there is none, simulate a panel."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.studies.human.collect import read_ratings
    from lookalike.studies.human.panel import label_agreement, simulated_panel
    from lookalike.studies.human.plan import read_plan

    plan, raters = read_plan(snakemake.input.plan), list(snakemake.input.raters)
    if raters:
        ratings = read_ratings(raters, plan)
    else:
        print("no rater's file is there: the panel is simulated")
        manifest = read_table(snakemake.input.manifest)
        agreement = label_agreement(plan, manifest["image_id"].to_numpy(), manifest["label"].to_numpy())
        seed = integer_seed(snakemake.params.seed, "simulated_panel")
        ratings = simulated_panel(plan, agreement, snakemake.params.simulated_raters, seed=seed)
    write_table(ratings, snakemake.output[0])
