"""Measure S-TG, S-DA and OASIS with one codebook, with printed and with chosen constants."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_csr, read_table
    from lookalike.core.settings.methods import Fit
    from lookalike.exhibits.results import write_results
    from lookalike.studies.landmark.protocol import landmark_data, measure_lead

    given, params = snakemake.input, dict(snakemake.params.settings)
    specs = {method: Fit(**spec) for method, spec in params.pop("specs").items()}
    counts, query_counts = read_csr(given.counts), read_csr(given.query_counts)
    queries, relevance, learning_images = (read_table(given[n]) for n in ("queries", "relevance", "learning_images"))
    manifest = read_table(given.manifest)
    image_ids = manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy()
    data = landmark_data(counts, query_counts, queries, relevance, image_ids)
    n_features = float(counts[image_ids].sum() / len(image_ids))
    rows = measure_lead(data, learning_images, params.pop("landmarks"), specs, n_features=n_features, **params)
    print(f"{len(rows)} numbers")
    write_results(rows, snakemake.output[0])
