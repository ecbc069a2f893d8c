"""Choose, fit and score methods on folds of a subset, or trace them along training, one after the other."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from importlib import import_module
    from pathlib import Path

    from lookalike.core.files import read_csr, read_table
    from lookalike.core.settings.methods import Fit
    from lookalike.studies.batches import run_names
    from lookalike.studies.category.folds import Fold

    params = snakemake.params
    counts, splits = read_csr(snakemake.input.counts), read_table(snakemake.input.splits)
    # what runs and what traces are found by name: an edit of the one does not run the other again
    makers = {file: import_module(f"lookalike.studies.category.{maker}") for file, maker in params.makers.items()}
    for folder, file in ((Path(file).parent, Path(file).name) for file in snakemake.output):
        if file in makers:
            run = run_names(folder) | {"fold": int(folder.name)}
            fold = Fold(counts, splits, run["fold"], params.settings["seed"], run["subset"])
            line = makers[file].make(fold, Fit(**params.settings["specs"][run["method"]]), folder, run)
            print(f"{run['method']}, fold {run['fold']}: {line}", flush=True)
