"""One thread for what must come out the same whatever ``--cores`` says.

BLAS and OpenMP split sums by thread, and a sum's last bits depend on where it is split. Codebooks and word assignments
run inside `one_thread`, so that their bits do not depend on the environment that a job finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, OpenMP and faiss to one thread within the block, and give them back what they had after it."""
    import faiss
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # has no types

    before = faiss.omp_get_max_threads()
    with threadpool_limits(limits=1):
        faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            faiss.omp_set_num_threads(before)
