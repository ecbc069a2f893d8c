"""Say where a data set's images are: put in place by the user, drawn, or fetched, verified and unpacked just now."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.archives import load_archives
    from lookalike.data.locate import obtain, remove_other_drawings

    data = snakemake.params.settings["data"]
    record = {"kind": data["kind"], "root": data["path"]}
    if data["kind"] == "synthetic":
        remove_other_drawings(record["root"])
    elif data["kind"] == "caltech256":
        archives = load_archives(snakemake.input.archives)
        record |= obtain(data, archives, snakemake.input.class_counts)
    write_json(record, snakemake.output[0])
