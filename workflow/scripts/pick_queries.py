"""Draw the queries of landmarks that are folders, and the images that each is learned from."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table
    from lookalike.data.ground_truth import sample_ground_truth
    from lookalike.studies.landmark.learning_images import write_queries

    manifest, params = read_table(snakemake.input.manifest), snakemake.params.settings
    asked = {name: params[name] for name in ("landmarks", "distractors", "n_queries", "seed")}
    write_queries(*sample_ground_truth(manifest, **asked), manifest, snakemake.output, params)
