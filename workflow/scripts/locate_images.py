"""Say where a data set's images and ground truth are: in place, drawn, or fetched, verified and unpacked just now."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.archives import load_archives
    from lookalike.data.locate import obtain, remove_other_drawings

    params, data = snakemake.params.settings, snakemake.params.settings["data"]
    if found := params["drawn"]:
        remove_other_drawings(found["root"])
    else:
        archives = load_archives(snakemake.input.archives)
        class_counts = snakemake.input.class_counts if data["kind"] == "caltech256" else None
        found = obtain(data, archives, class_counts, wants_words=params["wants_words"])
    write_json({"kind": data["kind"], **found}, snakemake.output[0])
