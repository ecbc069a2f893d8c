"""Scan a data set's images to its manifest, and read its ground truth: queries, and what is relevant to them."""

from lookalike.workflow_log import logged, progress_lines

with logged(snakemake.log):
    from lookalike.datasets.ground_truth import read_ground_truth
    from lookalike.datasets.scan import scan_photographs, summary
    from lookalike.files import read_json, replacing, write_table

    located = read_json(snakemake.input.images)
    manifest = scan_photographs(located["root"], n_threads=snakemake.threads, progress=progress_lines("files"))
    print(summary(manifest).to_string())
    queries, relevance = read_ground_truth(located["ground_truth"], manifest)
    print(f"{len(queries)} queries of {queries['landmark'].nunique()} landmarks")
    write_table(manifest, snakemake.output.manifest)
    write_table(queries, snakemake.output.queries)
    write_table(relevance, snakemake.output.relevance)
    with replacing(snakemake.output.listing) as part:
        part.write_text(snakemake.params.listing + "\n", encoding="utf-8")
