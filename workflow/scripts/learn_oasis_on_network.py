"""Learn OASIS on the vectors of the single-scale network of every seed, from training relevance."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_json, read_table
    from lookalike.core.settings.networks import Sampling
    from lookalike.data.relevance import RelevanceData
    from lookalike.studies.finegrained.protocol import oasis_system
    from lookalike.studies.finegrained.settings import EmbeddingOasis
    from lookalike.studies.finegrained.systems import OASIS_ON_TOP, write_system

    params = snakemake.params.settings
    networks = zip(snakemake.input.vectors, snakemake.input.networks, strict=True)
    for repeat, (vectors, network) in enumerate(networks, start=1):
        result = oasis_system(
            np.load(vectors),
            RelevanceData.load(snakemake.input.relevance),
            read_table(snakemake.input.pairs),
            EmbeddingOasis(**params["oasis"]),
            Sampling(**params["sampling"]),
            seed=params["seed"],
            system=OASIS_ON_TOP,
            repeat=repeat,
            held_out_images=read_json(network)["held_out_images"],
        )
        write_system(result, snakemake.output)
