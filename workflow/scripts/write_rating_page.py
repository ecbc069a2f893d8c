"""Write the page that raters open, as one file."""

from lookalike.workflow_log import logged

with logged(snakemake):
    from lookalike.files import read_json
    from lookalike.ratings.page import write_page
    from lookalike.ratings.plan import read_plan

    root = read_json(snakemake.input.images)["root"]
    write_page(read_plan(snakemake.input.plan), root, snakemake.output[0])
