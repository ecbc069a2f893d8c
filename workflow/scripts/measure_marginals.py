"""Count what a simulated data set is like: the papers' Table 1."""

from lookalike.core.job_log import logged

with logged(snakemake):
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.data.query_log import QueryLog
    from lookalike.data.web_marginals import measure_marginals
    from lookalike.features.visterm_store import VistermStore

    log, parts = QueryLog.load(snakemake.input.log), read_table(snakemake.input.images)["part"].to_numpy()
    params = snakemake.params.settings
    store = VistermStore(snakemake.input.visterms, params["words"])
    seed = integer_seed(params["seed"], "web", "marginals")
    write_table(measure_marginals(log, parts, store, seed), snakemake.output[0])
