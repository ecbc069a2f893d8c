"""The human evaluation of what OASIS retrieves (JMLR section 5.2.3), on labelled images.

Needs: the ranks of one run of rules/category.smk, and raters' files in data/ratings/{dataset}/ if there are any. Makes:
ratings/plan.csv (what is to be rated), ratings/page.html (the page that raters fill in), ratings/ratings.parquet (their
answers, or a simulated panel's), human/metrics.parquet and human/nips.parquet (the study's numbers, by as many simulated
raters as JMLR had, and by all, as many as NIPS had).
"""

RATINGS = f"{RESULTS}/ratings"


rule write_questionnaire:
    input:
        unpack(lambda wildcards: HUMAN[wildcards.dataset].images_files()),
        template=SOURCE / "lookalike" / "studies" / "human" / "page.html",
    output:
        # kept if the job fails: it does not replace a plan that raters have answered
        plan=update(f"{RATINGS}/plan.csv"),
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
        metrics=f"{RESULTS}/human/metrics.parquet",
        nips=f"{RESULTS}/human/nips.parquet",
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
