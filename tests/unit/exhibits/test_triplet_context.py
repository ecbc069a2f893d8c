"""What exhibits of the fine-grained study know of their data and systems."""

from __future__ import annotations

from dataclasses import replace

import pytest
from triplet_numbers import full, made_intervals, made_pool, missing, real, study

from lookalike.exhibits.reference import ALL_PAPERS
from lookalike.exhibits.triplet_context import (
    PAPER,
    PER_TRIPLET,
    PRECISION,
    SCORE,
    TABLE1,
    TABLE2,
    contrast_pairs,
    is_learned,
    is_network,
    ordered_systems,
    sampled_share,
    short_title,
    system_title,
    triplet_context,
    weighted_systems,
)


def test_the_systems_are_those_of_the_printed_tables_in_their_order(reference):
    of_paper = reference[reference["paper"] == PAPER]
    for exhibit, systems in (("table1", TABLE1), ("table2", TABLE2)):
        assert tuple(dict.fromkeys(of_paper.loc[of_paper["exhibit"] == exhibit, "method"])) == systems
    assert PAPER in ALL_PAPERS


def test_how_triplets_were_sampled_is_read_off_the_name():
    assert sampled_share("multiscale-weighted-060") == ("weighted", 60)
    assert sampled_share("multiscale-uniform-000") == ("uniform", 0)
    assert sampled_share("deep-ranking") == ("weighted", 20)
    assert sampled_share("deep-ranking", 40) == ("weighted", 40)
    assert sampled_share("convnet") is None
    assert sampled_share("multiscale-weighted-6") is None


def test_which_systems_need_what():
    assert [is_network(system) for system in TABLE1] == [False] * 9 + [True]
    assert all(map(is_network, TABLE2))
    assert [is_learned(system) for system in TABLE1] == [False] * 6 + [True] * 4
    assert is_learned("multiscale-uniform-000")


def test_titles_are_those_in_print():
    assert system_title("spmk-texton-1024-max") == "SPMKtexton1024max"
    assert system_title("multiscale-uniform-000") == "Multiscale, uniform, 0% out-of-class"
    assert short_title("multiscale-weighted-040") == "weighted 40%"
    assert short_title("deep-ranking") == "DeepRanking"
    networks = full(systems=["deep-ranking", "multiscale-weighted-040"])
    assert networks.title_of("multiscale-weighted-040") == "Multiscale, weighted, 40% out-of-class"


def test_systems_are_ordered_as_in_print():
    shares = ["multiscale-uniform-000", "multiscale-weighted-100", "multiscale-weighted-000"]
    found = ordered_systems(["other", *shares, *TABLE2, *reversed(TABLE1)])
    expected = (*TABLE1[:-1], *TABLE2, "multiscale-weighted-000", "multiscale-weighted-100", *shares[:1], "other")
    assert found == expected


def test_deep_ranking_stands_for_the_network_of_its_share():
    systems = ["multiscale-weighted-020", "multiscale-weighted-000", "deep-ranking", "multiscale-uniform-000"]
    assert weighted_systems(systems) == {0: "multiscale-weighted-000", 20: "deep-ranking"}
    assert weighted_systems(systems, 40)[20] == "multiscale-weighted-020"


def test_pairs_of_the_claims_are_of_systems_that_are_there():
    assert contrast_pairs(["hog", "l1hashkpca", "oasis"]) == (("l1hashkpca", "hog"), ("oasis", "l1hashkpca"))
    shares = ["multiscale-weighted-000", "multiscale-weighted-100", "multiscale-uniform-000"]
    pairs = contrast_pairs([*shares, "deep-ranking"])
    assert pairs == (("deep-ranking", shares[0]), (shares[1], shares[0]), (shares[0], shares[2]))
    assert contrast_pairs([]) == ()


def test_each_system_says_what_it_lacks():
    context = full(deep_not_run="install torch", learned_not_run="not run: put training/ there")
    assert context.why_not_run("convnet") == "not run: install torch"
    assert context.why_not_run("oasis") == "not run: put training/ there"
    assert context.why_not_run("hog") is None
    assert full().why_not_run("convnet") is None
    assert missing().why_not_run("hog") == "not run: put the rated triplets at data/triplets"
    # torch alone does not make a network, which learns from relevance
    assert full(learned_not_run="put training/ there").why_not_run("convnet") == "not run: put training/ there"


@pytest.mark.parametrize(
    ("kind", "said"), [("synthetic_triplets", "synthetic images and ratings"), ("class_triplets", "rated by machine")]
)
def test_what_nobody_rated_is_never_held_against_print(kind, said):
    context = full(kind=kind)
    for metric in (PRECISION, SCORE, PER_TRIPLET):
        assert said in context.why_not_comparable(metric)
    assert context.synthetic == (kind == "synthetic_triplets")


def test_a_score_is_a_count_over_as_many_triplets_and_images():
    context = real()
    assert context.why_not_comparable(PRECISION) == context.why_not_comparable(SCORE) == ""
    assert "top 5, the paper's of the top 30" in replace(context, k=5).why_not_comparable(SCORE)
    assert "no pool/" in replace(context, has_pool=False).why_not_comparable(SCORE)
    assert "pools of 48 images" in replace(context, median_pool=48).why_not_comparable(SCORE)
    assert "a count over 5,033 triplets" in replace(context, n_triplets=5_033).why_not_comparable(SCORE)
    assert replace(context, has_pool=False, n_triplets=5_033).why_not_comparable(PRECISION) == ""


def test_a_pool_that_is_partly_of_triplets_is_none():
    pool = made_pool()
    mixed = pool.assign(source=["pool", "pool", "triplets"])
    assert triplet_context(study(), made_intervals(), None, pool).has_pool
    assert not triplet_context(study(), made_intervals(), None, mixed).has_pool
    assert not triplet_context(study(), made_intervals(), None, pool.iloc[:0]).has_pool
    assert not triplet_context(study()).has_pool
