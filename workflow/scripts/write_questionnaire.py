"""Choose what raters see, and write the page that they open, as one file."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json, read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.ranking.rankings import Rankings
    from lookalike.studies.human.questionnaire import plan_of_run, write_page

    given, params = snakemake.input, snakemake.params.settings
    chosen = {**params, "seed": integer_seed(params["seed"], "ratings")}
    plan = plan_of_run(Rankings.load(given.ranks), read_table(given.manifest), **chosen)
    write_table(plan, snakemake.output.plan)
    write_page(plan, read_json(given.images)["root"], snakemake.output.page)
