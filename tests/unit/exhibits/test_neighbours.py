"""Queries of a gallery: which are chosen, how it is told, and what its picture and its CSV hold."""

import numpy as np
import pandas as pd

from lookalike.exhibits import neighbours
from lookalike.exhibits.model import Entry
from lookalike.exhibits.neighbours import change_text, choice_note, choose, score_text

GAINS = (0.1, 0.2, -0.3, 0.0, 0.5, 0.1, -0.1, 0.0, 0.2)


def candidates(gains, n_groups=3):
    places = np.arange(len(gains))
    return pd.DataFrame({"group": places % n_groups, "gain": gains}, index=10 + places)


def test_random_queries_take_classes_in_turn_by_seed_and_data_set_and_not_by_their_gains():
    keys = list(choose(candidates(GAINS), 9, seed=1, dataset="toys").index)
    assert sorted(keys) == list(range(10, 19)), "none twice"
    assert len({(key - 10) % 3 for key in keys[:2]}) == 2
    gains = np.linspace(-1, 1, 60)
    many = candidates(gains, 60)
    chosen, again, *others = (
        choose(many, 10, seed=seed, dataset=dataset)
        for seed, dataset in ((1, "toys"), (1, "toys"), (2, "toys"), (1, "other"))
    )
    assert chosen.equals(again)
    assert list(chosen.index) not in [list(other.index) for other in others]
    other = np.concatenate([gains[:1], np.random.default_rng(0).permutation(gains[1:-1]), gains[-1:]])
    first, second = (choose(candidates(given), 20, seed=1, dataset="a") for given in (gains, other))
    assert first["chosen"].equals(second["chosen"])
    assert list(second["gain"]) == list(other[second.index - 10])


def test_a_gallery_opens_with_the_query_of_median_gain_among_those_drawn_at_random():
    def entries(*gains):
        names = "cabdef"
        drawn = [Entry(f"{gain}", names[place], (), neighbours.RANDOM, gain=gain) for place, gain in enumerate(gains)]
        return [*drawn, Entry("best", "a", (), neighbours.GAIN, gain=9.0)]

    for gains, first in (((0.3, -0.2, 0.1), "0.1"), ((0.3, -0.2, 0.1, -0.1), "0.1"), ((None, 0.2), "0.2")):
        ordered_entries = neighbours.median_first(entries(*gains))
        assert ordered_entries[0].image == first
        assert [entry.words for entry in ordered_entries[1:]] == sorted(entry.words for entry in ordered_entries[1:])
    assert neighbours.median_first(entries(None))[0].image == "best", "by label where no gain is known"


def test_extremes_are_named_by_what_they_do_and_come_last_where_there_are_enough_queries():
    loss = [neighbours.LEAST_LOSS, neighbours.LOSS]
    for gains, names in ((0.1, [neighbours.GAIN, neighbours.LEAST_GAIN]), (-0.1, loss), (np.nan, [])):
        chosen = list(choose(candidates(np.arange(1, 4) * gains), 3, seed=0, dataset="toys")["chosen"])
        assert chosen == [neighbours.RANDOM] * (3 - len(names)) + names
    choices = choose(candidates(GAINS), 5, seed=1, dataset="toys")
    assert list(choices["chosen"]) == [neighbours.RANDOM] * 3 + [neighbours.GAIN, neighbours.LOSS]
    assert list(choices.index[3:]) == [14, 12]
    assert len(choose(candidates(GAINS), 50, seed=0, dataset="toys")) == len(GAINS)
    assert choose(candidates([]), 5, seed=0, dataset="toys").empty
    assert list(choose(candidates(GAINS), 2, seed=0, dataset="toys")["chosen"]) == [neighbours.RANDOM] * 2


def test_the_note_counts_all_queries_and_those_shown_and_changes_have_a_sign_and_words():
    all_of_them = candidates(GAINS)
    choices = choose(all_of_them, 4, seed=7, dataset="toys")
    note = choice_note(all_of_them, choices, seed=7, groups="classes", measure="average precision")
    assert "2 are picked at random (seed 7), from the classes in turn. The largest gain and the largest loss in" in note
    assert "Of all 9 queries, 5 gain, 2 lose and 2 keep the same in average precision by learning; of the 4" in note
    words = ["▲ 2 more of it", "▼ 1 fewer of it", "= as many of it"]
    assert [change_text(difference, "of it") for difference in (2, -1, 0)] == words
    assert [score_text(score) for score in (1.0, -0.08431, 1234.5, 99.96)] == ["1.00", "−0.0843", "1,234", "100"]
