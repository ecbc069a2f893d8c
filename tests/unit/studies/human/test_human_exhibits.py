"""The human study: what its settings ask, which queries are shown, what is plotted, and what is said of raters."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from contract import drawn
from made_human import IDS, LABELS, RANKS, make_rankings, make_ratings, make_study
from plotted import named, ruled, words_on
from project import own_settings

from lookalike.core.errors import LookalikeError
from lookalike.exhibits.claims import claim_records
from lookalike.exhibits.model import NothingToShowError
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human.contrasts import paired_shares
from lookalike.studies.settings import checked

JMLR, DRAFT, NIPS = "oasis-jmlr-2010", "oasis-2009-draft", "oasis-nips-2009"
BEST, WORST = f"{JMLR}/table2", f"{JMLR}/table3"
NOBODY = Rankings(np.zeros(1, np.int64), np.empty(0, np.int32), 0, np.empty(0, np.int32))


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """A study that people rated."""
    return make_study(tmp_path_factory.mktemp("rated"), ratings=make_ratings(simulated=False))


def queries(output):
    return list(output.frame.loc[output.frame["role"] == "query", "image_id"])


@pytest.mark.parametrize(
    ("id", "visible"),
    [
        # of equal ones the lower id: 100 before 102; 106 is worse than 108
        (f"{DRAFT}/table4", [100, 108, 116, 122]),
        (f"{NIPS}/table1", [100, 108]),
        # that of rank 5 is among the first five; mugs have none without a hit there
        (WORST, [118, 112, 110]),
    ],
)
def test_a_gallery_shows_the_queries_of_its_rule_and_their_first_five(rated, id, visible):
    output, entry = drawn(rated, id)
    labels, found = dict(zip(IDS, LABELS, strict=True)), make_rankings()
    assert queries(output) == visible
    words, first = words_on(output.canvas), dict(zip(IDS, IDS[found.neighbours[:, :5]], strict=True))
    results = output.frame[output.frame["role"] != "query"]
    assert results["image_id"].tolist() == np.concatenate([first[query] for query in visible]).tolist()
    right = results["image_id"].map(labels) == results["row"].map(dict(enumerate(map(labels.get, visible), start=1)))
    assert results["relevant"].eq("yes").tolist() == right.tolist()
    assert [word == "✓" for word in words if word in ("✓", "✗")] == right.tolist()
    assert results.groupby("row")["score"].is_monotonic_decreasing.all()
    (query, *_) = output.frame.to_dict("records")
    assert f"{query['class'][4:]}\nAP {100 * query['average_precision']:.1f}%" in words
    rule = {
        4: "picked by hand: of all (12), these are the 4 of highest average precision (AP), at most one of each class",
        3: "of those without an image of their class among the first 5 (5), these are the 3 of lowest",
    }
    assert rule.get(len(visible), "the 2 of highest") in output.notes[0]
    assert entry.notes(output)[0].startswith("Of Ten, partition 1 of 5: each test image queries all others.")


@pytest.mark.parametrize(
    ("id", "rankings", "visible", "note"),
    [
        (WORST, make_rankings((*RANKS[:5], (6, 7), *[(1, 2)] * 6)), [110], "; the paper shows 3. "),
        # a query without a positive is no candidate
        (BEST, replace(make_rankings(), offsets=np.r_[0, 0, 4:25:2]), [102, 108, 116, 122], "of all (11)"),
        (WORST, make_rankings(((1, 2),) * 12), [], "Not made: of 12 queries that OASIS answers, none is one of"),
        (WORST, NOBODY, [], "Not made: of 0 queries that OASIS answers, none is one of"),
    ],
)
def test_queries_that_cannot_be_shown_are_left_out_and_a_note_says_so(tmp_path, id, rankings, visible, note):
    study = make_study(tmp_path, rankings=rankings)
    with nullcontext() if visible else pytest.raises(NothingToShowError, match=note):
        output, _ = drawn(study, id)
        assert queries(output) == visible
        assert note in output.notes[0]


def test_images_that_are_not_there_are_said(tmp_path):
    study = make_study(tmp_path)
    (tmp_path / "images").rename(tmp_path / "gone")
    with pytest.raises(LookalikeError, match="put the images back"):
        drawn(study, BEST)


def test_the_mean_curve_and_selected_queries_of_five_ranks_stand_beside_what_is_printed(rated, tmp_path):
    output, _ = drawn(rated, f"{JMLR}/fig3b")
    own, curve = output.frame[output.frame["series"] == "oasis"].set_index("k"), rated.curve()
    assert own[["precision", "low", "high"]].equals(curve.set_axis(own.index))
    levels = output.frame.set_index("series")["precision"]
    assert levels["random"] == rated.number("random_good")
    assert (levels["oasis, printed"], levels["oasis, printed peak"]) == (0.35, 0.42)
    few, _ = drawn(make_study(tmp_path, ratings=make_ratings(n_queries=2, n_found=4)), f"{JMLR}/fig3b")
    assert "oasis, printed" not in set(few.frame["series"]), "the axis ends before k = 10"
    output, _ = drawn(rated, f"{JMLR}/fig3c")
    maps = output.frame.drop_duplicates("series").set_index("series")["map"]
    all_maps = np.sort(rated.by_query()["map"])[::-1]
    assert maps.to_dict() == {f"rank {rank}": all_maps[rank - 1] for rank in (1, 6, 11, 16, 21)}
    few, _ = drawn(make_study(tmp_path / "seven", ratings=make_ratings(n_queries=7)), f"{JMLR}/fig3c")
    assert list(few.frame["series"].unique()) == ["rank 1", "rank 6"], "of seven queries two ranks exist"
    both, _ = drawn(rated, f"{DRAFT}/fig7")
    panels = [(axis.get_title(loc="left")[:3], len(named(axis)) - len(ruled(axis))) for axis in both.canvas.axes]
    assert panels == [("(A)", 2), ("(B)", 5)], "of (A) the curve, and what is printed"


def test_queries_are_sorted_by_the_precision_of_oasis_and_one_rater_alone_has_nobody_beside_him(rated, tmp_path):
    jmlr, nips = drawn(rated, f"{JMLR}/fig3d")[0], drawn(rated, f"{NIPS}/fig1a")[0]
    oasis, human = (jmlr.frame[jmlr.frame["series"] == series] for series in ("oasis", "human"))
    assert list(oasis["order"]) == list(range(1, 23))
    assert oasis["precision"].is_monotonic_decreasing
    assert list(human["query"]) == list(oasis["query"])
    assert human["precision"].between(human["lowest"], human["highest"]).all()
    means = nips.frame.set_index("series")["precision"]
    assert means["oasis, mean"] == pytest.approx(oasis["precision"].mean())
    assert means["oasis, printed mean"] == 0.4
    assert ruled(nips.canvas.axes[0]) == list(means[["oasis, mean", "oasis, printed mean"]])
    alone = make_study(tmp_path, ratings=make_ratings(n_raters=1, n_queries=3))
    assert named(drawn(alone, f"{JMLR}/fig3d")[0].canvas.axes[0]) == ["OASIS"]


def test_queries_that_reach_raters_count_beyond_those_that_random_images_reach_by_those_that_differ(tmp_path):
    ratings = make_ratings(simulated=False)
    ratings.loc[ratings["role"].eq("random") & ratings["query"].lt(6), "answer"] = "good"
    rated = make_study(tmp_path, ratings=ratings)
    table = rated.by_query()
    for row, bar in zip(rated.contrasts.rows, (table["raters"] - 0.05, table["lowest"]), strict=True):
        reached, by_chance = (table[name] >= bar for name in ("oasis", "random"))
        assert row.mean == pytest.approx(100 * (reached.mean() - by_chance.mean())) != 100 * reached.mean()
    first, second = np.arange(25) < 7, np.arange(25) < 2
    # 5 of 25 gained and none lost, with half a query in each of the four kinds
    assert paired_shares(first, second) == pytest.approx((0.2, 0.0217, 0.3487), abs=1e-4)
    mean, low, high = paired_shares(second, second)
    assert low == -high < 0 == mean


@pytest.mark.parametrize(
    ("synthetic", "simulated", "corner"),
    [(True, True, "Synthetic images, simulated raters"), (False, True, "Simulated raters"), (False, False, "")],
)
def test_what_is_not_real_is_said(tmp_path, synthetic, simulated, corner):
    ratings, kind = make_ratings(n_queries=2, simulated=simulated), "synthetic" if synthetic else "folder"
    output, entry = drawn(study := make_study(tmp_path, ratings=ratings, kind=kind), f"{JMLR}/fig3b")
    assert entry.corner == corner
    assert claim_records(study).empty == bool(corner), "what is not real decides no claim"
    for plot in (output, drawn(study, f"{NIPS}/fig1a")[0]):
        beside = [plot.frame["series"].str.contains("printed").any(), "printed" in str(named(plot.canvas.axes[0]))]
        assert beside == [not simulated] * 2, "simulated raters stand beside no print"
    drawn(study, f"{JMLR}/fig3b")
    notes = " ".join([*entry.notes(output), *entry.differences(output)])
    assert ("No person rated" in notes, "Raters answered 95.0% of the images." in notes) == (simulated, True)
    assert f", {'simulated ' if simulated else ''}raters: 6; error bars: standard error" in entry.data_sentence(output)
    gallery, entry = drawn(study, BEST)
    assert entry.corner == ("Synthetic images" if synthetic else "")
    assert entry.differences(gallery)[0].endswith("The papers show images of the web.")


def test_what_is_rated_is_one_fold_of_oasis_and_raters_files_are_where_the_settings_say(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = own_settings()
    ratings = config["category"]["demo"]["ratings"]
    ratings |= {"fold": 1, "random": 5}
    study = checked(config).human["demo"]
    assert study.images_files()["ranks"] == "results/demo/runs/words500/demo10/oasis/1/ranks.npz"
    sizes = {"n_queries": 25, "n_retrieved": 10, "n_random": 5}
    assert study.params("write_questionnaire") == sizes | {"seed": study.seed}
    named = (study.title, study.subset_title, study.synthetic)
    assert named == ("synthetic classes", "10 synthetic classes", True)
    folder = tmp_path / "data" / "ratings" / "demo"
    folder.mkdir(parents=True)
    for name in ("bob.csv", "ada.csv", "notes.txt"):
        (folder / name).touch()
    assert study.raters_files() == ["data/ratings/demo/ada.csv", "data/ratings/demo/bob.csv"]
    ratings["path"] = "elsewhere"
    elsewhere = checked(config).human["demo"]
    assert (elsewhere.raters_files(), elsewhere.params("exhibits")) == ([], study.params("exhibits"))
    del config["category"]["demo"]["ratings"]
    assert list(checked(config).human) == ["caltech256"]
