"""Choose, fit and score one method on one subset: one fold, or all folds of a fast method."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.studies.category.protocol import run_fold
    from lookalike.studies.category.run_files import write_fold

    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    folders = {int(Path(file).parent.name): Path(file).parent for file in snakemake.output}
    for fold in snakemake.params.folds:
        result = run_fold(
            counts,
            splits,
            fold,
            snakemake.params.spec,
            seed=snakemake.params.seed,
            subset=snakemake.wildcards.subset,
            method=snakemake.wildcards.method,
        )
        names = {key: snakemake.wildcards[key] for key in ("dataset", "representation", "subset", "method")}
        write_fold(result, folders[fold], **names, fold=fold)
        done = f"mAP {result.rankings.mean_average_precision():.4f}" if result.rankings else result.fit["not_converged"]
        print(f"fold {fold}: {done}, {result.fit['seconds']}")
