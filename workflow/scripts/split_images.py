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
    counts, needed = usable_counts(manifest, pool), sizes.train + sizes.test
    classes = keep_large_enough(wanted, counts, needed, subset.too_small)
    lists_others = subset.too_small == "drop" and subset.classes == "published"
    others = [label for label in counts if lists_others and label not in wanted]
    dropped = left_out([label for label in wanted if label not in classes], others, counts, needed)
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
