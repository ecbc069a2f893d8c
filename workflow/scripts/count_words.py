"""Count the words of every image of the manifest, and those inside the rectangle of every query."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_csr
    from lookalike.features.words import count_query_words, count_words

    files, n_words = list(snakemake.input.words), snakemake.params.settings["codebook"]["words"]
    write_csr(count_words(files, len(read_table(snakemake.input.manifest)), n_words), snakemake.output.counts)
    query_counts = count_query_words(files, read_table(snakemake.input.queries), n_words)
    write_csr(query_counts, snakemake.output.query_counts)
