"""The HTML report: every exhibit with its state and the papers' numbers, in files that need no network.

Needs: the exhibits of the studies that run in the same command (with `demo`, `all` or a data set's target). The report also
shows other studies that have finished in results/. `snakemake report_html` shows finished results and runs nothing else.
Makes: results/report/*.html (index.html is the first page), results/ledger.csv (every printed number and claim beside ours),
and results/report/complete.txt, unless an exhibit has failed.
"""


localrules:
    report_complete,


rule report_html:
    input:
        exhibits=lambda wildcards: shown_files(asked_for()),
        claims=CLAIMS_TABLE,
        printed=RESOURCES / "reference-values.csv",
        runs=RESOURCES / "ledger.csv",
        kept=sorted(map(str, KEPT.glob("*.json"))),
        files=sorted(str(path) for kind in REPORT_FILES for path in (SOURCE / "lookalike").glob(kind)),
    output:
        pages=expand(f"{REPORT}/{{page}}.html", page=PAGES),
        failed=f"{REPORT}/failed.txt",
        ledger="results/ledger.csv",
    log:
        "logs/report.log",
    conda:
        "../../envs/report.yaml"
    params:
        configuration=plain(SETTINGS),
        others=other_exhibits,
        demo=demo_data(),
    script:
        "../scripts/write_report.py"


# a separate rule: Snakemake removes the files of a failed job, and the pages must stay to say why an exhibit failed
rule report_complete:
    input:
        f"{REPORT}/failed.txt",
    output:
        touch(f"{REPORT}/complete.txt"),
    log:
        "logs/report_complete.log",
    conda:
        "../../envs/report.yaml"
    shell:
        "tee {log} < {input} >&2; test ! -s {input}"


# summary of a run for the documentation, and its verdicts; copy them into workflow/resources/runs and runs/claims to keep them
rule keep_run:
    input:
        exhibits=lambda wildcards: shown_files([wildcards.dataset]),
        tested=lambda wildcards: tested_claims([wildcards.dataset]),
    output:
        summary=f"{RESULTS}/run.json",
        claims=f"{RESULTS}/run-claims.csv",
    log:
        "logs/keep_run/{dataset}.log",
    conda:
        "../../envs/report.yaml"
    params:
        command=command_of,
    script:
        "../scripts/keep_run.py"


rule readme_parts:
    input:
        exhibits=lambda wildcards: shown_files(demo_data()),
        readme=ROOT / "README.md",
        # kept beside the numbers, for the page on what has been run
        runs=lambda wildcards: expand(f"{RESULTS}/run.json", dataset=demo_data()),
    output:
        readme="results/readme/README.md",
        picture="results/readme/picture.webp",
    log:
        "logs/readme_parts.log",
    conda:
        "../../envs/report.yaml"
    script:
        "../scripts/make_readme_parts.py"
