"""Write the page that raters open, as one file."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json
    from lookalike.studies.human.page import write_page
    from lookalike.studies.human.plan import read_plan

    root = read_json(snakemake.input.images)["root"]
    write_page(read_plan(snakemake.input.plan), root, snakemake.output[0])
