"""Say where a data set's images and ground truth are: in place, drawn, or fetched, verified and unpacked just now."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_json
    from lookalike.data.archives import load_archives
    from lookalike.data.locate import obtain, remove_other_drawings

    params, data = snakemake.params.settings, snakemake.params.settings["data"]
    record = {"kind": data["kind"]}
    if data["kind"] == "synthetic_landmarks":
        record |= {"root": params["drawn_folder"], "ground_truth": params["ground_truth"]}
        remove_other_drawings(record["root"])
    else:
        archives = load_archives(snakemake.input.archives)
        record |= obtain(data, archives, wants_words=params["wants_words"])
    write_json(record, snakemake.output[0])
