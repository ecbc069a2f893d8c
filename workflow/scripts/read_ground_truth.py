"""Read a data set's queries and what is relevant to them, and draw the images that each landmark is learned from."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json, read_table, write_text
    from lookalike.data.ground_truth import read_ground_truth
    from lookalike.studies.landmark.learning_images import write_queries

    manifest = read_table(snakemake.input.manifest)
    queries = read_ground_truth(read_json(snakemake.input.images)["ground_truth"], manifest)
    write_queries(*queries, manifest, snakemake.output, snakemake.params.settings)
    write_text(snakemake.params.listing + "\n", snakemake.output.listing)
