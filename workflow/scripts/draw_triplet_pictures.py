"""Draw what is made of images in a fine-grained study: sample triplets, the sampler, filters and ranking examples."""

from lookalike.workflow_log import logged

with logged(snakemake.log):
    from pathlib import Path

    import numpy as np

    from lookalike.datasets.relevance import RelevanceData
    from lookalike.evaluation.triplet_files import image_paths
    from lookalike.exhibits import triplet_pictures as pictures
    from lookalike.exhibits.triplet_catalogue import write_triplet_picture
    from lookalike.exhibits.triplet_context import triplet_context
    from lookalike.files import read_table
