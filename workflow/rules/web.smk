"""The web-scale study (OASIS, JMLR section 5.2): from a simulated query log to one similarity, and how well it retrieves.

Needs: nothing; the log and the visterms are simulated. Makes: log.npz, images.parquet, visterms/, training/,
validation.npz, rankers/, model.lookalike, precision.parquet, approximate.parquet, marginals.parquet and .csv, and of these
web/: metrics.parquet, and the times timing.parquet, curve_times.parquet and runtime.parquet. What the settings ask for
is in studies/web/plan.py.
"""

from lookalike.studies.web import plan as web_plan

WEB_TABLES = f"{RESULTS}/web"


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
        settings=planned(web_plan.simulation),
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
        settings=planned(web_plan.simulation),
        n_shards=lambda wildcards: DATASETS[wildcards.dataset]["shards"],
        seed=lambda wildcards: drawing_seed(wildcards.dataset),
    script:
        "../scripts/simulate_visterms.py"


rule measure_marginals:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=planned(web_plan.shards),
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
        words=planned(web_plan.words),
        seed=SEED,
    script:
        "../scripts/measure_marginals.py"


rule prepare_training:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=planned(web_plan.shards),
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
        words=planned(web_plan.words),
        settings=lambda wildcards: WEB[wildcards.dataset]["validation"],
        theta=lambda wildcards: WEB[wildcards.dataset]["training"]["theta"],
        seed=SEED,
    script:
        "../scripts/prepare_training.py"


# a killed ranker continues from its checkpoint, which is removed when its files are complete
for studied_dataset in WEB:
    batch = web_plan.ranker_batch(config, studied_dataset)

    rule:
        name:
            f"train_on_log_{studied_dataset}"
        input:
            log=f"{RESULTS}/log.npz",
            rows=f"{RESULTS}/training",
            validation=f"{RESULTS}/validation.npz",
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
        conda:
            "../../envs/learning.yaml"
        threads: lambda wildcards: WEB[wildcards.dataset]["training"]["threads"]
        resources:
            exclusive=1,
        params:
            settings=lambda wildcards: web_plan.ranker_settings(config, wildcards.dataset, wildcards.get("ranker")),
            checkpoint_seconds=lambda wildcards: WEB[wildcards.dataset]["training"]["checkpoint_seconds"],
            seed=SEED,
        script:
            "../scripts/train_on_log.py"


rule average_web_rankers:
    input:
        matrices=planned(web_plan.of_rankers, "W.npy"),
        fits=planned(web_plan.of_rankers, "fit.json"),
    output:
        f"{RESULTS}/model.lookalike",
    log:
        f"{LOGS}/average_web_rankers.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=planned(web_plan.triplet_settings),
    script:
        "../scripts/average_web_rankers.py"


rule score_web_retrieval:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=planned(web_plan.shards),
        rows=f"{RESULTS}/training",
        matrices=planned(web_plan.of_rankers, "W.npy"),
        twin=planned(web_plan.of_twin),
    output:
        f"{RESULTS}/precision.parquet",
    log:
        f"{LOGS}/score_web_retrieval.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    threads: lambda wildcards: WEB[wildcards.dataset]["training"]["threads"]
    params:
        words=planned(web_plan.words),
        settings=lambda wildcards: WEB[wildcards.dataset]["test"],
        seed=SEED,
    script:
        "../scripts/score_web_retrieval.py"


rule compare_indices:
    input:
        images=f"{RESULTS}/images.parquet",
        visterms=planned(web_plan.shards),
        rows=f"{RESULTS}/training",
        matrices=planned(web_plan.of_rankers, "W.npy"),
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
        words=planned(web_plan.words),
        settings=lambda wildcards: WEB[wildcards.dataset]["approximate"],
        seed=SEED,
    script:
        "../scripts/compare_indices.py"


for studied_dataset in [dataset for dataset in WEB if "runtime" in WEB[dataset]]:
    batch = web_plan.runtime_batch(config, studied_dataset)

    rule:
        name:
            f"time_size_{studied_dataset}"
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
            learner="oasis|lmnn",
            size="[0-9]+",
        conda:
            "../../envs/learning.yaml"
        resources:
            exclusive=1,
        params:
            simulation=planned(web_plan.simulation),
            settings=lambda wildcards: web_plan.timed_settings(config, wildcards.dataset, wildcards.get("learner")),
            seed=SEED,
        script:
            "../scripts/time_sizes.py"


rule gather_web:
    input:
        precision=f"{RESULTS}/precision.parquet",
        counts=f"{RESULTS}/marginals.csv",
        marginals=f"{RESULTS}/marginals.parquet",
        fits=planned(web_plan.of_rankers, "fit.json"),
        curves=planned(web_plan.of_rankers, "curve.parquet"),
        runs=planned(web_plan.timed_runs),
        searched=planned(web_plan.searched),
    output:
        metrics=f"{WEB_TABLES}/metrics.parquet",
        timing=f"{WEB_TABLES}/timing.parquet",
        curve_times=f"{WEB_TABLES}/curve_times.parquet",
        runtime=f"{WEB_TABLES}/runtime.parquet",
    log:
        f"{LOGS}/gather_web.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_web.py"
