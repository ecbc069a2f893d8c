"""Find a data set's images, scan them to its manifest, draw the codebook pool, and learn the palettes of the pool."""

from lookalike.core.job_log import logged
from lookalike.core.progress import progress_lines

with logged(snakemake):
    from pathlib import Path

    import pandas as pd

    from lookalike.core.files import write_array, write_json, write_table, write_text
    from lookalike.core.seeds import integer_seed
    from lookalike.data.archives import locate
    from lookalike.data.scan import scan_folder
    from lookalike.data.splits import sample_codebook_pool
    from lookalike.features.palette import learn_palette, pool_pixels

    given, params, output = snakemake.input, snakemake.params.settings, snakemake.output
    name, seed = snakemake.wildcards.dataset, params["seed"]
    located = locate(params["data"], params["painted"], given.archives, given.class_counts)
    write_json(located, output.images)
    kept = {"clutter_labels": tuple(params["clutter"]), "classes": params["data"].get("classes", [])}
    manifest = scan_folder(located["root"], **kept, n_threads=snakemake.threads, progress=progress_lines("files"))
    print(pd.crosstab(manifest["label"], manifest["status"], margins=True).to_string())
    write_table(manifest, output.manifest)
    write_text(snakemake.params.listing + "\n", output.listing)
    pool = sample_codebook_pool(manifest, **params["pool"], seed=integer_seed(seed, "pool", name))
    write_table(pool, output.pool)
    for file in output.palettes:
        descriptor = Path(file).parent.name
        n_colours, n_pixels = (params["descriptors"][descriptor][key] for key in ("palette_colours", "palette_pixels"))
        seeds = [integer_seed(seed, "palette", name, descriptor, what) for what in ("pixels", "k-means")]
        pixels = pool_pixels(located["root"], manifest, pool, n_pixels, seeds[0])
        write_array(learn_palette(pixels, n_colours, seeds[1]), file)
