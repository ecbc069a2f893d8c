"""What the HTML report waits for and what it is made from, as functions."""

from lookalike.report import PAGES

REPORT = "results/report"
REPORT_FILES = SOURCE / "lookalike" / "report"


def asked_for():
    """Data sets that this start of Snakemake was asked for, whose exhibits the report waits for."""
    targets = set(workflow.dag_settings.targets)
    wanted = [dataset for dataset in studied() if target_of(dataset) in targets]
    if not targets or "all" in targets:
        wanted += studied(synthetic=False)
    if "demo" in targets:
        wanted += studied(synthetic=True)
    return list(dict.fromkeys(wanted))


def other_exhibits(wildcards):
    """Data sets that were not asked for and have exhibits, with the time of those: a change of them makes a new report."""
    lists = {dataset: Path(f"results/{dataset}/exhibits/index.md") for dataset in studied()}
    return {
        dataset: path.stat().st_mtime_ns
        for dataset, path in lists.items()
        if path.exists() and dataset not in asked_for()
    }
