"""Read the words that the benchmark publishes for the images of one shard of the manifest."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from lookalike.core.files import read_json, read_table
    from lookalike.features.published_words import read_published_words
    from lookalike.features.shards import save_shard

    words = read_published_words(
        read_json(snakemake.input.images)["words"],
        read_table(snakemake.input.manifest),
        int(snakemake.wildcards.shard),
        snakemake.params.settings["n_shards"],
        n_words=snakemake.params.settings["codebook"]["words"],
        progress=progress_lines("images"),
    )
    save_shard(words, snakemake.output[0])
