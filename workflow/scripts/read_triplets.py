"""Read rated triplets, or make them from class folders, and list every pair of images that systems have to measure."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from dataclasses import replace
    from pathlib import Path

    from lookalike.core.files import write_table, write_text
    from lookalike.core.settings.data_sets import ClassTriplets
    from lookalike.data.class_triplets import make_class_triplets
    from lookalike.data.rated_triplets import read_release, split_ratings
    from lookalike.ranking.triplet_metrics import candidate_pairs

    params = snakemake.params.settings
    folder = params["folder"]
    threads = {"n_threads": snakemake.threads, "progress": progress_lines("images")}
    if params["kind"] == "class_triplets":
        settings = ClassTriplets(**params["class_triplets"])
        rated = make_class_triplets(folder, settings, params["seed"], **threads)
    else:
        rated = read_release(folder, **threads)
    print(rated.rejected.to_string())
    triplets, ratings = split_ratings(rated.triplets, params["ratings"] or 0, params["seed"])
    rated = replace(rated, triplets=triplets)
    write_table(ratings, snakemake.output.ratings)
    rated.write(Path(snakemake.output.manifest).parent)
    write_table(candidate_pairs(rated.triplets, rated.pool, rated.manifest), snakemake.output.pairs)
    write_text(snakemake.params.listing + "\n", snakemake.output.listing)
