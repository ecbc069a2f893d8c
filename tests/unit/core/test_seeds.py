"""Named random streams: the same name the same numbers, another name others."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.seeds import generator, integer_seed

NAMES = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 1000)), min_size=1, max_size=4)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), NAMES, NAMES)
def test_streams_differ_exactly_when_their_names_do(root: int, one: list[str | int], other: list[str | int]) -> None:
    def first(names: list[str | int]) -> float:
        return float(generator(root, *names).random())

    assert first(one) == first(one)
    assert (first(one) == first(other)) == (one == other)


def test_order_and_root_matter_and_integer_seeds_fit_31_bits() -> None:
    assert integer_seed(1, "fold", 2) != integer_seed(1, 2, "fold")
    assert integer_seed(1, "fold") != integer_seed(2, "fold")
    assert all(0 <= integer_seed(0, "job", i) < 2**31 for i in range(100))
