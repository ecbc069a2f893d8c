"""Compare OASIS with every other method, image by image and fold by fold."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from pathlib import Path

    from lookalike.core.files import write_table
    from lookalike.ranking.comparison import average_precisions, compare_methods
    from lookalike.ranking.rankings import Rankings

    def names_of(file):
        subset, method, fold = Path(file).parts[-4:-1]
        return {"subset": subset, "method": method, "fold": int(fold)}

    precisions = average_precisions((names_of(file), Rankings.load(file)) for file in snakemake.input.ranks)
    splits = snakemake.params.splits
    compared = compare_methods(
        precisions,
        "oasis",
        n_train=splits["train"],
        n_test=splits["test"],
        random_state=snakemake.params.seed,
        families=snakemake.params.families,
    )
    write_table(compared, snakemake.output[0])
