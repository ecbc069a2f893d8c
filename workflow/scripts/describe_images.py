"""Describe all images by hand-crafted features, one after the other, and measure every pair that is asked for."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table
    from lookalike.data.rated_triplets import codebook_images
    from lookalike.data.scan import image_paths
    from lookalike.studies.finegrained.description import describe_system
    from lookalike.studies.finegrained.systems import write_system

    manifest, pairs = read_table(snakemake.input.manifest), read_table(snakemake.input.pairs)
    rows, _ = codebook_images(manifest)
    params = snakemake.params.settings
    paths = image_paths(manifest, params["images_folder"])
    chosen = {"ratings": read_table(snakemake.input.ratings), "seed": params["seed"], "n_threads": snakemake.threads}
    for system, choices in params["features"].items():
        print(f"{system}:", flush=True)
        result = describe_system(system, choices, paths, rows, pairs, **chosen)
        write_system(result, snakemake.output)
