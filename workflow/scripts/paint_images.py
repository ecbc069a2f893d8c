"""Paint the images of a data set that code makes, and write what comes with them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.studies.recipes import paint

    params = snakemake.params.settings
    painted = paint(params["kind"], params["painted"], params["seed"], params["folder"])
    write_json({"synthetic": True, "settings": params["painted"]} | painted, snakemake.output[0])
