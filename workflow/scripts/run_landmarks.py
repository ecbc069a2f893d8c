"""Learn and rank methods on landmarks, one after the other, for every draw of images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from itertools import product
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.core.settings.methods import Fit
    from lookalike.studies.landmark import protocol

    given, names, params = snakemake.input, snakemake.wildcards, snakemake.params.settings
    counts, query_counts = read_csr(given.counts), read_csr(given.query_counts)
    queries, relevance, learning_images = (read_table(given[n]) for n in ("queries", "relevance", "learning_images"))
    manifest = read_table(given.manifest)
    image_ids = manifest.loc[manifest["status"] == "ok", "image_id"].to_numpy()
    data = protocol.landmark_data(counts, query_counts, queries, relevance, image_ids)
    folders = {tuple(Path(file).parts[-4:-1]): Path(file).parent for file in snakemake.output}
    landmarks = list(dict.fromkeys(landmark for landmark, _, _ in folders))
    of_dataset = {name: names[name] for name in ("dataset", "representation")}
    shared = {"seed": params["seed"], "passes": params["passes"]}
    for method, spec in ((method, Fit(**spec)) for method, spec in params["specs"].items()):
        draws = sorted(set(learning_images["draw"]))
        own = (data, learning_images, params["landmarks"])
        chosen = {draw: protocol.chosen_constants(*own, draw, spec, **shared) for draw in draws}
        for landmark, draw in product(landmarks, draws):
            about = {"method": method, "chosen": chosen[draw], **shared}
            run = protocol.run_landmark(data, learning_images, landmark, draw, spec, **about)
            line = protocol.write_landmark(run, folders[landmark, method, str(draw)], of_dataset)
            print(f"{method}, {landmark}, draw {draw}: {line}", flush=True)
