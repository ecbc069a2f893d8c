"""Measure recall and time of approximate indices of the test images beside the exact search."""

from lookalike.core.job_log import logged

with logged(snakemake):
    import numpy as np

    from lookalike.core.errors import LookalikeError
    from lookalike.core.files import read_table, write_table
    from lookalike.core.seeds import integer_seed
    from lookalike.features.visterm_store import VistermStore
    from lookalike.learners.compact_rows import CompactRows
    from lookalike.ranking.approximate_search import IndexSetting, compare_indices
    from lookalike.studies.web.protocol import averaged, draw_query_images, test_rows
    from lookalike.studies.web.settings import Approximate

    params, approximate = snakemake.params.settings, Approximate(**snakemake.params.settings["approximate"])
    store = VistermStore(snakemake.input.visterms, n_words=params["words"])
    ids, gallery = test_rows(CompactRows(snakemake.input.rows), store, read_table(snakemake.input.images))
    queries = draw_query_images(ids, approximate.queries, integer_seed(params["seed"], "web", "index_queries"))
    own = np.searchsorted(ids, queries)
    indices = [IndexSetting(index.index, index.rank, tuple(index.parameters or (0,))) for index in approximate.indices]
    W = np.ascontiguousarray(averaged(list(snakemake.input.matrices)))
    try:
        table = compare_indices(W, gallery[own], gallery, approximate.neighbours, indices, own)
    except ValueError as error:
        raise LookalikeError(f"web.{snakemake.wildcards.dataset}.approximate cannot be run: {error}") from error
    write_table(table, snakemake.output[0])
