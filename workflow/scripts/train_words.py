"""Learn a codebook of local features by approximate k-means, from where a killed run left off."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from pathlib import Path
    from shutil import rmtree

    from lookalike.core.files import write_array
    from lookalike.core.seeds import integer_seed
    from lookalike.features.approximate_kmeans import train_words

    codebook, names = snakemake.params.codebook, snakemake.wildcards
    checkpoint = Path(snakemake.output[0]).parent / "training"
    centroids = train_words(
        list(snakemake.input.keypoints),
        codebook["words"],
        seed=integer_seed(snakemake.params.seed, "codebook", names.dataset, names.representation),
        iterations=codebook["iterations"],
        max_descriptors=codebook.get("max_descriptors", 0),
        root=codebook["root"],
        checkpoint=checkpoint,
        progress=progress_lines("shards"),
    )
    write_array(centroids, snakemake.output[0])
    rmtree(checkpoint, ignore_errors=True)
