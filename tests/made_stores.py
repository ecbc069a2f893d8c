"""A visterm store of made-up counts."""

import numpy as np
import scipy.sparse as sp

from lookalike.features.visterm_store import word_type, write_arrays


def write_store(folder, counts):
    """Write raw visterm counts, at most 255 each, as a store."""
    matrix = sp.csr_array(counts)
    words = matrix.indices.astype(word_type(matrix.shape[1]))
    write_arrays(folder, matrix.indptr.astype(np.int64), words, np.minimum(matrix.data, 255).astype(np.uint8))
