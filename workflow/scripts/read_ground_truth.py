"""Read a data set's ground truth: its queries, and what is relevant to them."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json, read_table, write_table, write_text
    from lookalike.data.ground_truth import read_ground_truth

    folder = read_json(snakemake.input.images)["ground_truth"]
    queries, relevance = read_ground_truth(folder, read_table(snakemake.input.manifest))
    print(f"{len(queries)} queries of {queries['landmark'].nunique()} landmarks")
    write_table(queries, snakemake.output.queries)
    write_table(relevance, snakemake.output.relevance)
    write_text(snakemake.params.listing + "\n", snakemake.output.listing)
