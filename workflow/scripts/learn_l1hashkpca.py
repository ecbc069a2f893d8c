"""Embed the L1 visual features by weighted minhash and kernel PCA."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_json, read_table
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.studies.finegrained.files import vectors_by_system, write_system
    from lookalike.studies.finegrained.protocol import l1hashkpca_system

    rows, told = codebook_images(read_table(snakemake.input.manifest))
    result = l1hashkpca_system(
        vectors_by_system(snakemake.input.vectors),
        read_json(snakemake.input.golden)["l1_weights"],
        rows,
        read_table(snakemake.input.pairs),
        snakemake.params.settings,
        seed=snakemake.params.seed,
        codebook_from=told,
    )
    write_system(result, snakemake.output)
