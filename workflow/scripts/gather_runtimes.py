"""Put the times of all sizes, and that of the study's own training, into one table."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import pandas as pd

    from lookalike.core.files import read_json, read_table, write_table
    from lookalike.studies.web.runs import runtime_of_ranker
    from lookalike.studies.web.runtime import runtime_table

    own = [
        runtime_of_ranker(read_json(fit), read_table(curve))
        for fit, curve in zip(snakemake.input.fits, snakemake.input.curves, strict=True)
    ]
    rows = pd.concat([read_table(file) for file in snakemake.input.runs]).to_dict("records")
    write_table(runtime_table([*rows, *own]), snakemake.output[0])
