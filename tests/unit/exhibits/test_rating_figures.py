"""Figures and table of the human evaluation: what they plot, how they name raters, and the printed numbers beside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_json
from lookalike.exhibits.compare import COLUMNS
from lookalike.exhibits.rating_catalogue import (
    RATING_EXHIBITS,
    compare_ratings,
    deviations,
    rating_caption,
    write_rating_exhibit,
)
from lookalike.exhibits.rating_figures import (
    both_curves,
    mean_curve,
    per_query,
    per_query_with_mean,
    rating_numbers,
    selected_curves,
)

JMLR, DRAFT, NIPS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
N_QUERIES, N_RATERS = 22, 6


def made_ratings(*, simulated=True, n_queries=N_QUERIES, n_raters=N_RATERS, seed=0):
    """Ratings of 10 found and 10 random images of each query, the later queries worse."""
    rng = np.random.default_rng(seed)
    rows = []
    for query in range(1, n_queries + 1):
        for rater in range(n_raters):
            for position in range(1, 21):
                found = position % 2 == 0
                good = rng.random() < (0.95 - 0.03 * query if found else 0.05)
                answer = "good" if good else "not_good"
                image = 1000 * query + position
                role, rank = ("retrieved", position // 2) if found else ("random", 0)
                key = (f"rater {rater}", query, 500 + query, position, image, role, rank)
                rows.append((*key, answer, position != 7, simulated))
    columns = ["rater", "query", "query_image", "position", "image", "role", "rank", "answer", "answered", "simulated"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="module")
def ratings():
    return made_ratings()


@pytest.fixture(scope="module")
def numbers(ratings):
    return rating_numbers(ratings)


@pytest.fixture(scope="module")
def people():
    return rating_numbers(made_ratings(simulated=False).assign(answered=True))


@pytest.fixture(scope="module")
def one(context):
    return replace(context, subsets=context.subsets[:1])


@pytest.fixture(scope="module")
def not_run(missing):
    return replace(missing, subsets=missing.subsets[:1])


def legend(axis):
    return [text.get_text() for text in axis.get_legend().get_texts()]


def good_share(ratings, k):
    found = ratings[(ratings["role"] == "retrieved") & (ratings["rank"] <= k)]
    return (found["answer"] == "good").mean()


def test_the_mean_curve_is_over_queries_and_raters(ratings, numbers, synthetic, reference):
    plot = mean_curve(numbers, synthetic, reference)
    frame = plot.frame.set_index(["series", "k"])
    for k in (1, 4, 10):
        assert frame.loc[("oasis", k), "precision"] == pytest.approx(good_share(ratings, k))
    row = frame.loc[("oasis", 10)]
    pairs = ratings[ratings["role"] == "retrieved"].assign(good=lambda table: table["answer"] == "good")
    pairs = pairs.groupby(["query", "rater"])["good"].mean()
    assert row["error"] == pytest.approx(pairs.std() / np.sqrt(len(pairs)))
    assert (row["n_queries"], row["n_raters"]) == (N_QUERIES, N_RATERS)
    random = ratings[ratings["role"] == "random"]
    shown = plot.frame[plot.frame["series"] == "random"]["precision"].iloc[0]
    assert shown == pytest.approx((random["answer"] == "good").mean())


def test_the_printed_precision_and_peak_stand_beside_ours(numbers, synthetic, reference):
    plot = mean_curve(numbers, synthetic, reference)
    printed = plot.frame[plot.frame["series"].str.contains("printed")].set_index("series")
    assert printed.loc["oasis, printed", "precision"] == 0.35
    assert printed.loc["oasis, printed", "k"] == 10
    assert printed.loc["oasis, printed peak", "precision"] == 0.42
    assert pd.isna(printed.loc["oasis, printed peak", "k"]), "the paper prints no k of it"
    assert (printed["n_raters"] == 0).all()
    assert legend(plot.figure.axes[0]) == [
        "OASIS",
        "random images",
        "printed, at k = 10",
        "printed peak (its k is not printed)",
    ]


def test_the_csv_has_both_errors_and_says_what_is_simulated(numbers, people, synthetic, one, reference):
    frame = mean_curve(numbers, synthetic, reference).frame
    ours = frame[frame["series"] == "oasis"]
    assert list(ours["error_over_queries"]) == list(numbers.mean_curve["standard_error_queries"])
    assert "error_over_queries in the CSV file" in rating_caption(RATING_EXHIBITS[JMLR, "fig3b"], numbers, synthetic, 0)
    table = RATING_EXHIBITS["human", "deviations"]
    for exhibit in (*(RATING_EXHIBITS[key] for key in ((JMLR, "fig3b"), (JMLR, "fig3c"), (NIPS, "fig1a"))), table):
        drawn = exhibit.draw(numbers, synthetic, reference).frame
        if exhibit is table:
            assert drawn["simulated"].all()
        else:
            printed = drawn["series"].str.contains("printed")
            assert (drawn["simulated"] == ~printed).all()
        assert not exhibit.draw(people, one, reference).frame["simulated"].any()


def test_what_is_not_drawn_is_not_in_the_caption(ratings, numbers, synthetic, reference):
    for name in ((JMLR, "fig3b"), (DRAFT, "fig7")):
        told = rating_caption(RATING_EXHIBITS[name], numbers, synthetic, 0)
        assert "share of random images that are called good" in told
        assert "Hollow marker: the printed precision at k = 10" in told
        assert "among 10 random ones" in told
        few = rating_numbers(ratings[(ratings["role"] == "retrieved") & (ratings["rank"] <= 6)])
        told = rating_caption(RATING_EXHIBITS[name], few, synthetic, 0)
        assert "random" not in told
        assert "Hollow" not in told
        assert "Dotted line: the printed peak." in told
    plot = mean_curve(few, synthetic, reference)
    assert set(plot.frame["series"]) == {"oasis", "oasis, printed peak"}
    assert plot.figure.axes[0].get_xlim() == (0.5, 6.5)
    assert "random" not in rating_caption(RATING_EXHIBITS[JMLR, "fig3d"], few, synthetic, 0)


def test_five_queries_are_selected_by_their_rank(numbers, synthetic, reference):
    plot = selected_curves(numbers, synthetic, reference)
    assert list(dict.fromkeys(plot.frame["series"])) == [f"rank {rank}" for rank in (1, 6, 11, 16, 21)]
    maps = numbers.selected.drop_duplicates("position").set_index("position")["map"]
    assert legend(plot.figure.axes[0]) == [f"rank {rank}: mAP {value:.2f}" for rank, value in maps.items()]
    assert maps.is_monotonic_decreasing
    chosen = plot.frame[plot.frame["series"] == "rank 6"]
    assert list(chosen["k"]) == list(range(1, 11))
    assert chosen["query_image"].nunique() == 1
    own = numbers.selected[numbers.selected["position"] == 6]
    assert list(chosen["precision"]) == list(own["precision"])
    assert list(chosen["error"]) == list(own["standard_error"])
    lines = [line for line in plot.figure.axes[0].lines if len(line.get_xdata()) == 10]
    assert len({line.get_color() for line in lines}) == 5


def test_few_queries_show_the_ranks_that_there_are(synthetic, reference):
    few = rating_numbers(made_ratings(n_queries=7))
    assert set(selected_curves(few, synthetic, reference).frame["series"]) == {"rank 1", "rank 6"}
    caption = rating_caption(RATING_EXHIBITS[JMLR, "fig3c"], few, synthetic, 0)
    assert "Selected queries: those at rank 1 and 6 of all" in caption


def test_the_draft_has_both_panels(numbers, synthetic, reference):
    plot = both_curves(numbers, synthetic, reference)
    first, second = plot.figure.axes
    assert first.get_title(loc="left").startswith("(A)")
    assert second.get_title(loc="left").startswith("(B)")
    for panel, alone in (("A", mean_curve), ("B", selected_curves)):
        own = plot.frame[plot.frame["panel"] == panel].assign(panel="").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone(numbers, synthetic, reference).frame, check_dtype=False)


def test_queries_are_sorted_by_the_precision_of_oasis(ratings, numbers, synthetic, reference):
    plot = per_query(numbers, synthetic, reference)
    oasis = plot.frame[plot.frame["series"] == "oasis"]
    human = plot.frame[plot.frame["series"] == "human"]
    assert list(oasis["order"]) == list(range(1, N_QUERIES + 1))
    assert oasis["precision"].is_monotonic_decreasing
    query = ratings[ratings["query_image"] == oasis["query_image"].iloc[0]]
    assert oasis["precision"].iloc[0] == pytest.approx(good_share(query, 10))
    assert (human["lowest"] <= human["precision"]).all()
    assert (human["precision"] <= human["highest"]).all()
    assert set(human["query_image"]) == set(oasis["query_image"])
    assert legend(plot.figure.axes[0]) == ["OASIS", "raters, mean", "lowest to highest rater"]


def test_nips_has_the_mean_over_queries_beside_the_printed_one(numbers, synthetic, reference):
    frame = per_query_with_mean(numbers, synthetic, reference).frame.set_index("series")
    assert frame.loc["oasis, printed mean", "precision"] == 0.40
    assert frame.loc["oasis, mean", "precision"] == pytest.approx(numbers.summary["precision_at_10"])
    assert not per_query(numbers, synthetic, reference).frame["series"].str.contains("mean").any()


@pytest.mark.parametrize("exhibit", RATING_EXHIBITS.values(), ids=lambda exhibit: f"{exhibit.paper}/{exhibit.name}")
def test_simulated_ratings_are_called_so_in_every_caption_and_figure(
    exhibit, numbers, people, synthetic, one, reference
):
    caption = rating_caption(exhibit, numbers, synthetic, 0)
    assert f"judged by {N_RATERS} simulated raters" in caption
    assert "No person rated: all ratings are simulated" in caption
    assert f"{N_QUERIES} query images" in caption
    assert "Synthetic images of demo" in caption
    assert "human" not in caption
    told = rating_caption(exhibit, people, one, 1)
    assert "simulated" not in told
    assert f"judged by {N_RATERS} raters" in told
    assert "partition 2 of 5" in told
    assert ("Not comparable with the printed numbers: other images than the paper's." in told) == bool(exhibit.printed)
    if exhibit.kind == "figure":
        assert exhibit.draw(numbers, synthetic, reference).figure.get_suptitle() == "Synthetic images, simulated raters"
        assert exhibit.draw(people, one, reference).figure.get_suptitle() == ""
        assert exhibit.draw(numbers, one, reference).figure.get_suptitle() == "Simulated raters"


def test_one_simulated_rater_among_people_is_told(one):
    mixed = made_ratings(simulated=False)
    mixed.loc[mixed["rater"] == "rater 0", "simulated"] = True
    assert "simulated" in rating_caption(RATING_EXHIBITS[JMLR, "fig3b"], rating_numbers(mixed), one, 0)


def test_unanswered_images_are_told(numbers, people, synthetic, one):
    exhibit = RATING_EXHIBITS[JMLR, "fig3b"]
    assert "Raters answered 95.0 % of the candidates; the others count" in rating_caption(
        exhibit, numbers, synthetic, 0
    )
    assert "answered" not in rating_caption(exhibit, people, one, 0)


def test_no_printed_number_gets_a_verdict(numbers, people, synthetic, one, not_run, reference):
    exhibit = RATING_EXHIBITS["human", "deviations"]
    table = compare_ratings(exhibit, numbers, synthetic, reference)
    assert tuple(table.columns) == COLUMNS
    assert list(table["printed"]) == [0.33, 0.25, 42, 35, 40]
    assert set(table["status"]) == {"not comparable"}
    assert set(table["reason"]) == {"synthetic images, simulated raters"}
    assert table["ours"].iloc[0] == pytest.approx(numbers.summary["standard_deviation_over_queries"])
    assert table["ours"].iloc[1] == pytest.approx(numbers.summary["standard_deviation_over_raters"])
    assert table["ours"].iloc[2] == pytest.approx(100 * numbers.summary["precision_peak"])
    assert (table["ours"].iloc[3:] == 100 * numbers.summary["precision_at_10"]).all()
    assert set(compare_ratings(exhibit, people, one, reference)["reason"]) == {"other images than the paper's"}
    assert set(compare_ratings(exhibit, None, not_run, reference)["status"]) == {not_run.not_run_sentence}


def test_the_table_has_ours_beside_the_printed_numbers(numbers, synthetic, not_run, reference):
    table = deviations(numbers, synthetic, reference)
    lines = table.markdown.splitlines()
    ours = f"{numbers.summary['standard_deviation_over_queries']:.2f}"
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        "Mean standard deviation of mAP over queries",
        ours,
        "0.33",
        "JMLR 2010, draft 2009",
        "not comparable: synthetic images, simulated raters",
    ]
    assert "NIPS 2009" in lines[6]
    assert "0.33" in table.latex
    without = deviations(None, not_run, reference)
    assert set(without.frame["ours_cell"]) == {"not run"}
    assert list(without.frame["printed_cell"]) == ["0.33", "0.25", "42", "35", "40"]


def test_a_single_rater_has_no_deviation_and_no_one_to_compare_with(one, reference):
    alone = rating_numbers(made_ratings(simulated=False, n_raters=1))
    table = compare_ratings(RATING_EXHIBITS["human", "deviations"], alone, one, reference).set_index("metric")
    assert table.loc["map_std_over_evaluators", "status"] == "no result"
    assert table.loc["map_std_over_evaluators", "reason"] == "it takes two raters"
    plot = per_query(alone, one, reference)
    assert legend(plot.figure.axes[0]) == ["OASIS"]
    caption = rating_caption(RATING_EXHIBITS[JMLR, "fig3d"], alone, one, 0)
    assert "No rater is drawn" in caption
    assert "by 1 rater." in caption
    curves = selected_curves(alone, one, reference)
    assert not curves.figure.axes[0].containers, "no error bars without an error"
    assert curves.frame["error"].isna().all()


def test_where_nothing_was_run_the_printed_numbers_stand_alone(not_run, reference):
    for name, exhibit in RATING_EXHIBITS.items():
        drawn = exhibit.draw(None, not_run, reference)
        caption = rating_caption(exhibit, None, not_run, 0)
        assert "not run: put 256_ObjectCategories.tar at data/caltech256" in caption
        assert ("Numbers shown are the paper's." in caption) == bool(exhibit.printed)
        assert (len(drawn.frame) > 0) == bool(exhibit.printed), name
        if exhibit.kind == "figure":
            assert drawn.figure.get_suptitle() == not_run.not_run_sentence
            assert drawn.frame["series"].str.contains("printed").all()


def written(paper, name, numbers, context, reference, folder):
    return write_rating_exhibit(
        paper,
        name,
        numbers=numbers,
        context=context,
        reference=reference,
        fold=0,
        folder=folder,
        sources=["ratings.parquet"],
    )


@pytest.mark.parametrize(("paper", "name"), [(JMLR, "fig3d"), (NIPS, "fig1a"), ("human", "deviations")])
def test_every_file_is_there(numbers, synthetic, reference, tmp_path, paper, name):
    files = written(paper, name, numbers, synthetic, reference, tmp_path)
    kinds = ("md", "tex") if name == "deviations" else ("png", "svg", "pdf")
    expected = [f"{name}.csv", *(f"{name}.{kind}" for kind in kinds)]
    assert [path.name for path in files] == [*expected, f"{name}_compare.csv", f"{name}_compare.md", f"{name}.json"]
    sidecar = read_json(files[-1])
    assert "simulated" in sidecar["caption"]
    assert sidecar["sources"] == ["ratings.parquet"]
    printed = RATING_EXHIBITS[paper, name].printed
    assert sidecar["statuses"] == ({"not comparable": len(printed)} if printed else {})


def test_the_same_numbers_give_the_same_bytes(numbers, synthetic, reference, tmp_path):
    first, again = (written(JMLR, "fig3b", numbers, synthetic, reference, tmp_path / folder) for folder in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_what_cannot_be_drawn_is_refused(numbers, one, reference, tmp_path):
    settings = {"reference": reference, "fold": 0, "folder": tmp_path}
    with pytest.raises(LookalikeError, match="choose one of oasis-jmlr-2010/fig3b"):
        write_rating_exhibit(JMLR, "fig9z", numbers=numbers, context=one, **settings)
    with pytest.raises(LookalikeError, match="needs ratings and there are none"):
        write_rating_exhibit(JMLR, "fig3b", numbers=None, context=one, **settings)
    with pytest.raises(LookalikeError, match="no subset"):
        write_rating_exhibit(JMLR, "fig3b", numbers=numbers, context=replace(one, subsets=()), **settings)


def test_the_catalogue_has_the_exhibits_of_the_human_evaluation():
    assert set(RATING_EXHIBITS) == {
        (JMLR, "fig3b"),
        (JMLR, "fig3c"),
        (JMLR, "fig3d"),
        (DRAFT, "fig7"),
        (NIPS, "fig1a"),
        ("human", "deviations"),
    }
