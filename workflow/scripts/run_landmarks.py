"""Learn and rank one method on one landmark, or on all landmarks of a fast method, for every draw of images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.studies.landmark.files import write_landmark
    from lookalike.studies.landmark.protocol import run_landmarks

    names, manifest = snakemake.wildcards, read_table(snakemake.input.manifest)
    folders = {tuple(Path(file).parts[-4:-1]): Path(file).parent for file in snakemake.output}
    results = run_landmarks(
        read_csr(snakemake.input.counts),
        read_csr(snakemake.input.query_counts),
        read_table(snakemake.input.queries),
        read_table(snakemake.input.relevance),
        read_table(snakemake.input.learning_images),
        snakemake.params.landmarks,
        snakemake.params.spec,
        seed=snakemake.params.seed,
        method=names.method,
        image_ids=manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy(),
    )
    for result in results:
        folder = folders[result.landmark, names.method, str(result.draw)]
        write_landmark(result, folder, dataset=names.dataset, representation=names.representation)
        done = result.metrics.set_index("metric")["value"].get("map", result.fit["not_converged"])
        print(f"{result.landmark}, draw {result.draw}: mAP {done}, {result.fit['seconds']}")
