"""Learn a linear embedding of the single-scale network's features and the visual features together."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.data.relevance import RelevanceData
    from lookalike.deep.runs import RankingRun, run_linear_embedding
    from lookalike.deep.settings import NetworkSettings, Sampling
    from lookalike.studies.finegrained.files import write_system

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
    write_system(run_linear_embedding(run, [np.load(file) for file in snakemake.input.parts]), snakemake.output)
