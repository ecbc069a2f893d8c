"""The web-scale study (OASIS, JMLR section 5.2): from a simulated query log to one similarity, and how well it retrieves.

Needs: nothing; the log and the visterms are simulated. Makes: log.npz, images.parquet, visterms/, training/,
validation.npz, rankers/, model.lookalike, precision.parquet, marginals.csv, runtime/, and of these the rows of results
results.parquet and times.parquet. What each job reads of the settings is in studies/web/study.py.
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
        settings=settings_for(WEB, "simulate_log"),
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
        settings=settings_for(WEB, "simulate_visterms"),
    script:
        "../scripts/simulate_visterms.py"


rule measure_marginals:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=lambda wildcards: WEB[wildcards.dataset].visterm_folders(),
    output:
        f"{RESULTS}/marginals.csv",
    log:
        f"{LOGS}/measure_marginals.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(WEB, "measure_marginals"),
    script:
        "../scripts/measure_marginals.py"


rule prepare_training:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=lambda wildcards: WEB[wildcards.dataset].visterm_folders(),
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
        settings=settings_for(WEB, "prepare_training"),
    script:
        "../scripts/prepare_training.py"


# a killed ranker continues from its checkpoint, which is removed when its files are complete
for studied_dataset, study in WEB.items():
    batch = study.ranker_batch()

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
        threads: lambda wildcards: WEB[wildcards.dataset].training.threads
        resources:
            exclusive=1,
        params:
            settings=settings_for(WEB, "train_on_log"),
        script:
            "../scripts/train_on_log.py"


rule average_web_rankers:
    input:
        matrices=lambda wildcards: WEB[wildcards.dataset].of_rankers("W.npy"),
        fits=lambda wildcards: WEB[wildcards.dataset].of_rankers("fit.json"),
    output:
        f"{RESULTS}/model.lookalike",
    log:
        f"{LOGS}/average_web_rankers.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(WEB, "average_web_rankers"),
    script:
        "../scripts/average_web_rankers.py"


rule score_web_retrieval:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=lambda wildcards: WEB[wildcards.dataset].visterm_folders(),
        rows=f"{RESULTS}/training",
        matrices=lambda wildcards: WEB[wildcards.dataset].of_rankers("W.npy"),
    output:
        f"{RESULTS}/precision.parquet",
    log:
        f"{LOGS}/score_web_retrieval.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    threads: lambda wildcards: WEB[wildcards.dataset].training.threads
    params:
        settings=settings_for(WEB, "score_web_retrieval"),
    script:
        "../scripts/score_web_retrieval.py"


for studied_dataset, study in WEB.items():
    if study.runtime is None:
        continue
    batch = study.runtime_batch()

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
        conda:
            "../../envs/learning.yaml"
        resources:
            exclusive=1,
        params:
            settings=settings_for(WEB, "time_size"),
        script:
            "../scripts/time_sizes.py"


rule gather_web:
    input:
        precision=f"{RESULTS}/precision.parquet",
        counts=f"{RESULTS}/marginals.csv",
        fits=lambda wildcards: WEB[wildcards.dataset].of_rankers("fit.json"),
        curves=lambda wildcards: WEB[wildcards.dataset].of_rankers("curve.parquet"),
        runs=lambda wildcards: WEB[wildcards.dataset].timed_runs(),
    output:
        results=f"{RESULTS}/results.parquet",
        times=f"{RESULTS}/times.parquet",
    log:
        f"{LOGS}/gather_web.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    script:
        "../scripts/gather_web.py"
