"""The human evaluation of what OASIS retrieves (JMLR section 5.2.3), on labelled images.

Needs: the ranks of one run of rules/category.smk, and raters' files in data/ratings/{dataset}/ if there are any. Makes:
ratings/plan.csv (what is to be rated), ratings/page.html (the page that raters fill in), ratings/ratings.parquet (their
answers, or those of a simulated panel of as many raters as in JMLR) and human/results.parquet, the rows of its numbers.
"""

RATINGS = f"{RESULTS}/ratings"


rule write_questionnaire:
    input:
        unpack(lambda wildcards: HUMAN[wildcards.dataset].images_files()),
        template=SOURCE / "lookalike" / "studies" / "human" / "page.html",
    output:
        plan=f"{RATINGS}/plan.csv",
        page=f"{RATINGS}/page.html",
    log:
        f"{LOGS}/ratings/plan.log",
    wildcard_constraints:
        dataset=one_of(HUMAN),
    conda:
        "../../envs/exhibits.yaml"
    params:
        settings=settings_for(HUMAN, "write_questionnaire"),
    script:
        "../scripts/write_questionnaire.py"


rule collect_ratings:
    input:
        plan=f"{RATINGS}/plan.csv",
        manifest=f"{RESULTS}/manifest.parquet",
        raters=lambda wildcards: HUMAN[wildcards.dataset].raters_files(),
    output:
        ratings=f"{RATINGS}/ratings.parquet",
        results=f"{RESULTS}/human/results.parquet",
    log:
        f"{LOGS}/ratings/ratings.log",
    wildcard_constraints:
        dataset=one_of(HUMAN),
    conda:
        "../../envs/exhibits.yaml"
    params:
        settings=settings_for(HUMAN, "collect_ratings"),
    script:
        "../scripts/collect_ratings.py"
