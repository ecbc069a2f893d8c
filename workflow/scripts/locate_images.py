"""Say where a data set's images are: put in place by the user, drawn, or fetched, verified and unpacked just now."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from lookalike.datasets.locate import obtain
    from lookalike.datasets.sources import load_archives
    from lookalike.files import write_json

    data = snakemake.params.data
    record = {"kind": data["kind"], "root": data.get("path", "")}
    if data["kind"] == "synthetic":
        record["root"] = snakemake.params.drawn_folder
    elif data["kind"] == "caltech256":
        archive = load_archives(snakemake.input.archives)["caltech256"]
        record |= obtain(archive, data["path"], may_download=data["fetch"])
    write_json(record, snakemake.output[0])
