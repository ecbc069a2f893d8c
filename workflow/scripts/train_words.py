"""Learn a codebook of local features by approximate k-means, from where a killed run left off."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from pathlib import Path
    from shutil import rmtree

    from lookalike.core.files import write_array
    from lookalike.core.seeds import integer_seed
    from lookalike.core.settings.schema import CodebookTraining
    from lookalike.features.approximate_kmeans import train_words

    params, names = snakemake.params.settings, snakemake.wildcards
    codebook = CodebookTraining(**params["codebook"])
    checkpoint = Path(snakemake.output[0]).parent / "training"
    centroids = train_words(
        list(snakemake.input.keypoints),
        codebook.words,
        seed=integer_seed(params["seed"], "codebook", names.dataset, names.representation),
        iterations=codebook.iterations,
        max_descriptors=codebook.max_descriptors or 0,
        root=codebook.root,
        checkpoint=checkpoint,
        progress=progress_lines("shards"),
    )
    write_array(centroids, snakemake.output[0])
    rmtree(checkpoint, ignore_errors=True)
