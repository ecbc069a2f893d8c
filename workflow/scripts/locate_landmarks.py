"""Say where a data set's images and ground truth are: in place, drawn, or fetched, verified and unpacked just now."""

from lookalike.core.job_log import logged

with logged(snakemake) as terminal:
    from lookalike.core.files import write_json
    from lookalike.data.archives import load_archives
    from lookalike.data.locate import obtain_landmarks, own_landmarks, remove_other_drawings

    data = snakemake.params.data
    record = {"kind": data["kind"]}
    if data["kind"] == "synthetic_landmarks":
        record |= {"root": snakemake.params.drawn_folder, "ground_truth": snakemake.params.ground_truth}
        remove_other_drawings(record["root"])
    elif data["kind"] == "landmarks":
        record |= own_landmarks(data["path"], data["ground_truth"])
    else:
        record |= obtain_landmarks(
            load_archives(snakemake.input.archives),
            data["path"],
            may_download=data["fetch"],
            wants_words=snakemake.params.wants_words,
            progress=terminal,
        )
    write_json(record, snakemake.output[0])
