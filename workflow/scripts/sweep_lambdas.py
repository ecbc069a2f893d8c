"""Vary the regularisation of the sparse learners: sparsity and mAP of every landmark, for every codebook."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.studies.landmark.lambda_sweep import sweep_lambdas
    from lookalike.studies.landmark.protocol import landmark_data

    inputs, sweep = snakemake.input, snakemake.params.sweep
    manifest, learning_images = read_table(inputs.manifest), read_table(inputs.learning_images)
    learning_images = learning_images[learning_images["draw"] < sweep["draws"]]
    tables = []
    for codebook, counts, query_counts in zip(
        snakemake.params.codebooks, inputs.counts, inputs.query_counts, strict=True
    ):
        data = landmark_data(
            read_csr(counts),
            read_csr(query_counts),
            read_table(inputs.queries),
            read_table(inputs.relevance),
            manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy(),
        )
        swept = sweep_lambdas(
            data,
            learning_images,
            snakemake.params.landmarks,
            snakemake.params.specs,
            sweep["regularization"],
            seed=snakemake.params.seed,
            representation=codebook,
        )
        tables.append(swept)
        print(f"{codebook}: {len(swept) // 2} fits")
    write_table(pd.concat(tables, ignore_index=True), snakemake.output[0])
