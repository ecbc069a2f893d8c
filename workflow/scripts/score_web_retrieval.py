"""Let test images query all other test images, by each system, and count what is relevant among the first."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.files import read_table
    from lookalike.data.query_log import QueryLog
    from lookalike.exhibits.results import write_results
    from lookalike.features.visterm_store import VistermStore
    from lookalike.learners.compact_rows import CompactRows
    from lookalike.studies.web.protocol import averaged, score_retrieval, test_rows
    from lookalike.studies.web.settings import LogTest

    params = snakemake.params.settings
    images, matrices = read_table(snakemake.input.images), list(snakemake.input.matrices)
    store = VistermStore(snakemake.input.visterms, n_words=params["words"])
    ids, gallery = test_rows(CompactRows(snakemake.input.rows), store, images)
    systems = {"oasis": lambda: np.load(matrices[0])}
    if len(matrices) > 1:
        systems["oasis-averaged"] = lambda: averaged(matrices)
    systems["euclidean"] = lambda: None
    precision = score_retrieval(
        systems,
        ids,
        gallery,
        QueryLog.load(snakemake.input.log),
        LogTest(**params["test"]),
        seed=params["seed"],
        n_threads=snakemake.threads,
        report=lambda line: print(line, flush=True),
    )
    write_results(precision, snakemake.output[0])
