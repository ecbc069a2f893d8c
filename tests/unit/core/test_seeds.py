"""Named random streams: the same name the same numbers, another name others."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.seeds import generator, integer_seed

NAMES = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 1000)), min_size=1, max_size=4)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), NAMES, NAMES)
def test_streams_differ_exactly_when_their_names_do(root, names, other):
    def first(names):
        return float(generator(root, *names).random())

    assert first(names) == first(names)
    assert (first(names) == first(other)) == (names == other)
    assert first(names) != float(generator(root + 1, *names).random())
    assert 0 <= integer_seed(root, *names) < 2**31
