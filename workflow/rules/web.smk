"""The web-scale study (OASIS, JMLR section 5.2): from a simulated query log to one similarity, and how well it retrieves.

Needs: nothing; the log and the visterms are simulated. Makes: log.npz, images.parquet, visterms/, training/,
validation.npz, rankers/, model.npz, precision.parquet, approximate.parquet, runtime.parquet, marginals.parquet and
.csv, and exhibits/; metrics.parquet and timing.parquet are gathered by the rules of category.smk.
"""


rule simulate_log:
    output:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
    log:
        f"{LOGS}/simulate_log.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=simulation_settings,
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/simulate_log.py"


rule simulate_visterms:
    output:
        directory(f"{RESULTS}/visterms/shard-{{shard}}"),
    log:
        f"{LOGS}/simulate_visterms/{{shard}}.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=simulation_settings,
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/simulate_visterms.py"


rule measure_marginals:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=visterm_shards,
    output:
        histograms=f"{RESULTS}/marginals.parquet",
        counts=f"{RESULTS}/marginals.csv",
    log:
        f"{LOGS}/measure_marginals.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        words=lambda wildcards: DATASETS[wildcards.dataset]["simulation"]["words"],
        seed=SEED,
    script:
        "../scripts/measure_marginals.py"


rule prepare_training:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=visterm_shards,
    output:
        rows=directory(f"{RESULTS}/training"),
        validation=f"{RESULTS}/validation.npz",
    log:
        f"{LOGS}/prepare_training.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        words=lambda wildcards: DATASETS[wildcards.dataset]["simulation"]["words"],
        settings=lambda wildcards: WEB[wildcards.dataset]["validation"],
        theta=lambda wildcards: WEB[wildcards.dataset]["training"]["theta"],
        seed=SEED,
    script:
        "../scripts/prepare_training.py"


# a ranker that was killed goes on from its checkpoint, which stands beside its files until they are there
rule train_on_log:
    input:
        log=f"{RESULTS}/log.npz",
        rows=f"{RESULTS}/training",
        validation=f"{RESULTS}/validation.npz",
    output:
        [f"{RANKER}/{file}" for file in RANKER_FILES],
    log:
        f"{LOGS}/train_on_log/{{ranker}}.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    threads: lambda wildcards: WEB[wildcards.dataset]["training"]["threads"]
    resources:
        exclusive=1,
    params:
        settings=triplet_settings,
        checkpoint_seconds=lambda wildcards: WEB[wildcards.dataset]["training"]["checkpoint_seconds"],
        seed=SEED,
    script:
        "../scripts/train_on_log.py"


rule average_web_rankers:
    input:
        matrices=of_rankers("W.npy"),
        fits=of_rankers("fit.json"),
    output:
        model=f"{RESULTS}/model.npz",
        sidecar=f"{RESULTS}/model.json",
    log:
        f"{LOGS}/average_web_rankers.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=triplet_settings,
    script:
        "../scripts/average_web_rankers.py"


rule score_web_retrieval:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=visterm_shards,
        rows=f"{RESULTS}/training",
        matrices=of_rankers("W.npy"),
    output:
        precision=f"{RESULTS}/precision.parquet",
        metrics=f"{RESULTS}/web_metrics.parquet",
    log:
        f"{LOGS}/score_web_retrieval.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    threads: lambda wildcards: WEB[wildcards.dataset]["training"]["threads"]
    params:
        words=lambda wildcards: DATASETS[wildcards.dataset]["simulation"]["words"],
        settings=lambda wildcards: WEB[wildcards.dataset]["test"],
        seed=SEED,
    script:
        "../scripts/score_web_retrieval.py"


rule compare_indices:
    input:
        images=f"{RESULTS}/images.parquet",
        visterms=visterm_shards,
        rows=f"{RESULTS}/training",
        matrices=of_rankers("W.npy"),
    output:
        f"{RESULTS}/approximate.parquet",
    log:
        f"{LOGS}/compare_indices.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        words=lambda wildcards: DATASETS[wildcards.dataset]["simulation"]["words"],
        settings=lambda wildcards: WEB[wildcards.dataset]["approximate"],
        seed=SEED,
    script:
        "../scripts/compare_indices.py"


rule time_size:
    output:
        f"{RESULTS}/runtime/{{learner}}-{{size}}.parquet",
    log:
        f"{LOGS}/time_size/{{learner}}-{{size}}.log",
    wildcard_constraints:
        dataset=one_of(WEB),
        learner="oasis|lmnn",
        size="[0-9]+",
    conda:
        "../../envs/learning.yaml"
    resources:
        exclusive=1,
    params:
        simulation=simulation_settings,
        settings=timed_settings,
        seed=SEED,
    script:
        "../scripts/time_size.py"


rule gather_runtimes:
    input:
        runs=timed_runs,
        fits=of_rankers("fit.json"),
        curves=of_rankers("curve.parquet"),
    output:
        f"{RESULTS}/runtime.parquet",
    log:
        f"{LOGS}/gather_runtimes.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runtimes.py"


rule gather_ranker_curves:
    input:
        curves=of_rankers("curve.parquet"),
    output:
        f"{RESULTS}/curve.parquet",
    log:
        f"{LOGS}/gather_ranker_curves.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_runs.py"


for studied_dataset in WEB:
    for what, drawn, files in (("tables", web_tables, TABLE_FILES), ("figures", web_figures, FIGURE_FILES)):

        rule:
            name:
                f"draw_{what}_{studied_dataset}"
            input:
                unpack(web_numbers(drawn)),
                reference=RESOURCES / "reference-values.csv",
            output:
                in_report(
                    "web",
                    expand(
                        f"{EXHIBITS}/{{name}}{{file}}", name=drawn(studied_dataset), file=files, allow_missing=True
                    ),
                ),
            log:
                f"{LOGS}/exhibits/{what}.log",
            wildcard_constraints:
                dataset=studied_dataset,
            conda:
                "../../envs/exhibits.yaml"
            params:
                context=web_context,
                exhibits=drawn(studied_dataset),
            script:
                "../scripts/draw_web_exhibits.py"


rule list_web_exhibits:
    input:
        **{name: WEB_NUMBER_FILES[name] for name in ("precision", "fits", "counts")},
        exhibits=lambda wildcards: exhibit_files(wildcards.dataset),
        metrics=f"{RESULTS}/metrics.parquet",
    output:
        index=f"{EXHIBITS}/index.md",
        headline=f"{EXHIBITS}/headline.txt",
    log:
        f"{LOGS}/exhibits/index.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/exhibits.yaml"
    params:
        context=web_context,
    script:
        "../scripts/list_web_exhibits.py"
