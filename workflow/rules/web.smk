"""The web-scale study (OASIS, JMLR section 5.2): from a simulated query log to one similarity, and how well it retrieves.

Needs: nothing; the log and the visterms are simulated. Makes: log.npz, images.parquet, visterms.npz, rankers/,
runtime/, model.lookalike, precision.parquet, marginals.csv, and from these the rows in results.parquet and
times.parquet. studies/web/study.py says which settings each job reads.
"""


rule simulate_web:
    output:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=f"{RESULTS}/visterms.npz",
    log:
        f"{LOGS}/simulate_web.log",
    wildcard_constraints:
        dataset=one_of(WEB),
    conda:
        "../../envs/learning.yaml"
    params:
        settings=settings_for(WEB, "simulate_web"),
    script:
        "../scripts/simulate_web.py"


# a killed ranker continues from its checkpoint, which is removed when its files are complete
for study in WEB.values():
    batch = study.ranker_batch()

    rule:
        name:
            f"train_on_log_{study.dataset}"
        input:
            log=f"{study.folder}/log.npz",
            images=f"{study.folder}/images.parquet",
            visterms=f"{study.folder}/visterms.npz",
        output:
            batch.files,
        log:
            batch.log,
        wildcard_constraints:
            **constraints_of(batch),
        conda:
            "../../envs/learning.yaml"
        threads: study.training.threads
        resources:
            exclusive=1,
        params:
            settings=settings_of(study, "train_on_log", batch),
        script:
            "../scripts/train_on_log.py"


for study in WEB.values():
    if study.runtime is None:
        continue
    batch = study.runtime_batch()

    rule:
        name:
            f"time_size_{study.dataset}"
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
            settings=settings_of(study, "time_size", batch),
        script:
            "../scripts/time_sizes.py"


rule score_web_retrieval:
    input:
        log=f"{RESULTS}/log.npz",
        images=f"{RESULTS}/images.parquet",
        visterms=f"{RESULTS}/visterms.npz",
        matrices=lambda wildcards: WEB[wildcards.dataset].of_rankers("W.npy"),
        fits=lambda wildcards: WEB[wildcards.dataset].of_rankers("fit.json"),
        curves=lambda wildcards: WEB[wildcards.dataset].of_rankers("curve.parquet"),
        runs=lambda wildcards: WEB[wildcards.dataset].timed_runs(),
    output:
        model=f"{RESULTS}/model.lookalike",
        precision=f"{RESULTS}/precision.parquet",
        marginals=f"{RESULTS}/marginals.csv",
        results=f"{RESULTS}/results.parquet",
        times=f"{RESULTS}/times.parquet",
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
