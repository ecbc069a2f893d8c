"""The HTML report: every exhibit with its state, beside the printed numbers, in files that need no network.

Needs: exhibits of the studies that were asked for beside it (with `demo`, `all` or a data set's target), and shows besides whatever other
studies have finished in results/; alone (`snakemake report_html`) it shows what is there and runs nothing. Makes: results/report/*.html,
of which index.html is the first page.
"""


rule report_html:
    input:
        exhibits=lambda wildcards: exhibits_of(asked_for()),
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
