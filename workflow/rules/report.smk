"""The HTML report: every exhibit with its state, beside the printed numbers, in files that need no network.

Needs: exhibits of the studies that were asked for beside it (with `demo`, `all` or a data set's target), and shows besides whatever other
studies have finished in results/; alone (`snakemake report_html`) it shows what is there and runs nothing. Makes: results/report/*.html,
of which index.html is the first page.
"""

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


rule report_html:
    input:
        exhibits=lambda wildcards: exhibits_of(asked_for()),
        code=code("report/site.py"),
        files=sorted(str(path) for path in [*REPORT_FILES.glob("templates/*"), *REPORT_FILES.glob("static/*")]),
    output:
        expand(f"{REPORT}/{{page}}.html", page=PAGES),
    log:
        "logs/report.log",
    conda:
        "../../envs/report.yaml"
    params:
        configuration=config,
        seed=SEED,
        others=other_exhibits,
    script:
        "../scripts/write_report.py"


rule readme_parts:
    input:
        exhibits=lambda wildcards: exhibits_of(studied(synthetic=True)),
        code=code("report/readme.py", "report/gallery.py", "report/results.py", "report/provenance.py"),
    output:
        numbers="results/readme/numbers.md",
        picture="results/readme/picture.webp",
    log:
        "logs/readme_parts.log",
    conda:
        "../../envs/report.yaml"
    params:
        datasets=studied(synthetic=True),
        configuration=config,
        seed=SEED,
    script:
        "../scripts/make_readme_parts.py"
