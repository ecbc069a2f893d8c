"""Learn OASIS on the vectors of another system, from training relevance."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_json, read_table
    from lookalike.datasets.relevance import RelevanceData
    from lookalike.studies.finegrained.files import write_system
    from lookalike.studies.finegrained.protocol import OasisSettings, oasis_system

    sampling = snakemake.params.sampling
    result = oasis_system(
        np.load(snakemake.input.vectors),
        RelevanceData.load(snakemake.input.relevance),
        read_table(snakemake.input.pairs),
        OasisSettings(
            **snakemake.params.settings,
            **{key: sampling[key] for key in ("out_of_class", "margin", "positive_threshold") if key in sampling},
        ),
        seed=snakemake.params.seed,
        system=snakemake.wildcards.system,
        held_out_images=read_json(snakemake.input.network)["held_out_images"]
        if snakemake.input.get("network")
        else None,
        report=print,
    )
    write_system(result, snakemake.output)
