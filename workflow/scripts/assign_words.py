"""Give every keypoint of one shard the word of the codebook that is nearest to its descriptor."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.features.shards import save_shard
    from lookalike.features.words import assign_words

    codebook = np.load(snakemake.input.codebook)
    words = assign_words(snakemake.input.keypoints, codebook, root=snakemake.params.settings["codebook"]["root"])
    save_shard(words, snakemake.output[0])
