"""Learn a linear embedding of the visual features and those of the single-scale network, for every seed."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from dataclasses import replace

    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.core.settings.networks import Sampling
    from lookalike.data.relevance import RelevanceData
    from lookalike.deep.runs import RankingRun, run_linear_embedding
    from lookalike.deep.settings import NetworkSettings
    from lookalike.studies.finegrained.systems import write_system

    params = snakemake.params.settings
    run = RankingRun(
        relevance=RelevanceData.load(snakemake.input.relevance),
        pairs=read_table(snakemake.input.pairs),
        settings=NetworkSettings(**params["network"]),
        sampling=Sampling(**params["sampling"]),
        seed=params["seed"],
        n_threads=snakemake.threads,
        report=lambda line: print(line, flush=True),
    )
    features = np.load(snakemake.input.features)
    for repeat, file in enumerate(snakemake.input.networks, start=1):
        result = run_linear_embedding(replace(run, repeat=repeat), [np.load(file), features])
        write_system(result, snakemake.output)
