"""Vary what the papers fix or leave open: sparsity and mAP of landmarks along every sweep, for every codebook."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_csr, read_table, write_table
    from lookalike.core.settings.methods import Fit
    from lookalike.studies.landmark.protocol import landmark_data
    from lookalike.studies.landmark.settings import Sweeps
    from lookalike.studies.landmark.sweeps import sweep_settings

    inputs, params = snakemake.input, snakemake.params.settings
    specs = {method: Fit(**spec) for method, spec in params["specs"].items()}
    manifest = read_table(inputs.manifest)
    tables = []
    for codebook, counts, query_counts in zip(params["codebooks"], inputs.counts, inputs.query_counts, strict=True):
        data = landmark_data(
            read_csr(counts),
            read_csr(query_counts),
            read_table(inputs.queries),
            read_table(inputs.relevance),
            manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy(),
        )
        swept = sweep_settings(
            data,
            read_table(inputs.learning_images),
            params["landmarks"],
            Sweeps(**params["sweeps"]),
            specs,
            seed=params["seed"],
            representation=codebook,
        )
        tables.append(swept)
        print(f"{codebook}: {len(swept) // 2} fits")
    write_table(pd.concat(tables, ignore_index=True), snakemake.output[0])
