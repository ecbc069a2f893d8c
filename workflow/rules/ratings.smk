"""Galleries of what OASIS retrieves and the human evaluation of it (JMLR section 5.2.3), on labelled images.

Needs: the ranks of one run of rules/category.smk, and raters' files in data/ratings/{dataset}/ if there are any. Makes:
ratings/plan.csv (what is to be rated), ratings/page.html (the page that raters fill in), ratings/ratings.parquet (their
answers, or a simulated panel's), and the exhibits drawn from them.
"""


rule draw_rating_plan:
    input:
        images=f"{RESULTS}/images.json",
        manifest=f"{RESULTS}/manifest.parquet",
        ranks=rated_ranks,
    output:
        # kept where the job refuses to replace a plan that raters have answered
        update(f"{RATINGS}/plan.csv"),
    log:
        f"{LOGS}/ratings/plan.log",
    wildcard_constraints:
        dataset=one_of(RATED),
    conda:
        "../../envs/exhibits.yaml"
    params:
        settings=plan_settings,
        raters=lambda wildcards: str(raters_folder(wildcards.dataset)),
        seed=SEED,
    script:
        "../scripts/draw_rating_plan.py"


rule write_rating_page:
    input:
        plan=f"{RATINGS}/plan.csv",
        images=f"{RESULTS}/images.json",
        template=SOURCE / "lookalike" / "studies" / "human" / "page.html",
    output:
        f"{RATINGS}/page.html",
    log:
        f"{LOGS}/ratings/page.log",
    wildcard_constraints:
        dataset=one_of(RATED),
    conda:
        "../../envs/exhibits.yaml"
    script:
        "../scripts/write_rating_page.py"


rule collect_ratings:
    input:
        plan=f"{RATINGS}/plan.csv",
        manifest=f"{RESULTS}/manifest.parquet",
        raters=raters_files,
    output:
        f"{RATINGS}/ratings.parquet",
    log:
        f"{LOGS}/ratings/ratings.log",
    wildcard_constraints:
        dataset=one_of(RATED),
    conda:
        "../../envs/exhibits.yaml"
    params:
        simulated_raters=lambda wildcards: CATEGORY[wildcards.dataset]["ratings"]["simulated_raters"],
        seed=SEED,
    script:
        "../scripts/collect_ratings.py"


rule draw_gallery:
    input:
        unpack(rated_images),
    output:
        in_report("ratings", multiext(f"{EXHIBITS}/{{gallery}}", *PICTURE_FILES, ".csv")),
    log:
        f"{LOGS}/exhibits/{{gallery}}.log",
    wildcard_constraints:
        dataset=one_of(RATED),
        gallery="|".join(GALLERIES),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
        rated=lambda wildcards: rated(wildcards.dataset),
    script:
        "../scripts/draw_gallery.py"


rule draw_rating_table:
    input:
        ratings=if_run(f"{RATINGS}/ratings.parquet"),
        reference=RESOURCES / "reference-values.csv",
    output:
        in_report("ratings", multiext(f"{EXHIBITS}/{{rated}}", *TABLE_FILES)),
    log:
        f"{LOGS}/exhibits/{{rated}}.log",
    wildcard_constraints:
        dataset=one_of(RATED),
        rated="|".join(RATING_TABLES),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
        rated=lambda wildcards: rated(wildcards.dataset),
    script:
        "../scripts/draw_ratings.py"


rule draw_rating_figure:
    input:
        ratings=if_run(f"{RATINGS}/ratings.parquet"),
        reference=RESOURCES / "reference-values.csv",
    output:
        in_report("ratings", multiext(f"{EXHIBITS}/{{rated}}", *FIGURE_FILES)),
    log:
        f"{LOGS}/exhibits/{{rated}}.log",
    wildcard_constraints:
        dataset=one_of(RATED),
        rated="|".join(RATING_FIGURES),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=exhibit_context,
        rated=lambda wildcards: rated(wildcards.dataset),
    script:
        "../scripts/draw_ratings.py"
