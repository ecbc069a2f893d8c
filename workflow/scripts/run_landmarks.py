"""Learn and rank methods on landmarks, one after the other, for every draw of images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.studies.landmark.files import write_landmark
    from lookalike.studies.landmark.protocol import run_landmarks

    given, names = snakemake.input, snakemake.wildcards
    counts, query_counts = read_csr(given.counts), read_csr(given.query_counts)
    tables = [read_table(given[name]) for name in ("queries", "relevance", "learning_images")]
    manifest = read_table(given.manifest)
    image_ids = manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy()
    folders = {tuple(Path(file).parts[-4:-1]): Path(file).parent for file in snakemake.output}
    landmarks = list(dict.fromkeys(landmark for landmark, _, _ in folders))
    for method, spec in snakemake.params.specs.items():
        chosen = {"seed": snakemake.params.seed, "method": method, "image_ids": image_ids}
        for result in run_landmarks(counts, query_counts, *tables, landmarks, spec, **chosen):
            folder = folders[result.landmark, method, str(result.draw)]
            write_landmark(result, folder, dataset=names.dataset, representation=names.representation)
            done = result.metrics.set_index("metric")["value"].get("map", result.fit["not_converged"])
            print(f"{method}, {result.landmark}, draw {result.draw}: mAP {done}, {result.fit['seconds']}", flush=True)
