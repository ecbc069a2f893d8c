"""Read a folder of published visterm counts of landmarks, draw queries, which are whole images, and learning images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import write_csr, write_table
    from lookalike.data.ground_truth import sample_ground_truth
    from lookalike.data.visterm_folder import read_visterm_folder
    from lookalike.studies.landmark.learning_images import write_queries

    output, params = snakemake.output, snakemake.params.settings
    manifest, pool, counts = read_visterm_folder(snakemake.params.folder, snakemake.params.words)
    asked = {name: params[name] for name in ("landmarks", "distractors", "n_queries", "seed")}
    queries, relevance = sample_ground_truth(manifest, **asked)
    write_queries(queries, relevance, manifest, output, params)
    write_table(manifest, output.manifest)
    write_table(pool, output.pool)
    write_csr(counts, output.counts)
    write_csr(counts[queries["image_id"].to_numpy()], output.query_counts)
