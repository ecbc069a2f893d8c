"""Describe all images by one hand-crafted feature, and measure every pair that is asked for."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table
    from lookalike.datasets.rated_triplets import codebook_images
    from lookalike.datasets.scan import image_paths
    from lookalike.studies.finegrained.description import describe_system
    from lookalike.studies.finegrained.files import write_system

    manifest = read_table(snakemake.input.manifest)
    rows, told = codebook_images(manifest)
    result = describe_system(
        snakemake.wildcards.system,
        snakemake.params.settings,
        image_paths(manifest, snakemake.params.folder),
        rows,
        read_table(snakemake.input.pairs),
        seed=snakemake.params.seed,
        codebook_from=told,
        n_threads=snakemake.threads,
        report=print,
    )
    write_system(result, snakemake.output)
