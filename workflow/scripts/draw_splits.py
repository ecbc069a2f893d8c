"""Draw a subset's random partitions into training, validation and test images."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.data.splits import (
        keep_large_enough,
        left_out,
        make_splits,
        read_published_subsets,
        resolve_subset,
        usable_counts,
    )
    from lookalike.studies.category.settings import ChosenClasses, Splits

    manifest, pool = read_table(snakemake.input.manifest), read_table(snakemake.input.pool)
    params = snakemake.params.settings
    subset, sizes = ChosenClasses(**params["classes"]), Splits(**params["splits"])
    published = read_published_subsets(snakemake.input.published).get(snakemake.wildcards.subset)
    wanted = resolve_subset(subset.classes, manifest, published, seed=params["seed"])
    classes, dropped = keep_large_enough(
        wanted,
        usable_counts(manifest, pool),
        needed=sizes.train + sizes.test,
        too_small=subset.too_small,
    )
    if subset.too_small == "drop" and subset.classes == "published":
        dropped = left_out(wanted, manifest, pool, dropped)
    splits = make_splits(
        manifest,
        pool,
        classes,
        n_folds=sizes.folds,
        n_train=sizes.train,
        n_test=sizes.test,
        n_validation=sizes.validation,
        seed=params["seed"],
        subset=snakemake.wildcards.subset,
    )
    write_table(dropped, snakemake.output.dropped)
    write_table(splits, snakemake.output.splits)
