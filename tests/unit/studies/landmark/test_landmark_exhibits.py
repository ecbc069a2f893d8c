"""The landmark study's tables, figures and gallery: what is averaged, what stands beside it, what is not judged."""

import pytest
from contract import drawn
from made_landmark import LANDMARKS, WORDS, pictures, runs, study
from plotted import named

from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.results import select
from lookalike.exhibits.words import headline


@pytest.fixture(scope="module")
def oxford():
    return study(runs())


def table_of(study, number=1):
    """A table of the paper, its cells by landmark and method, and the study as it draws it."""
    table, study = drawn(study, f"soml-aaai-2014/table{number}")
    return table, table.frame.set_index(["landmark", "method"]), study


def of_tfidf(numbers, **names):
    return select(numbers, representation="sift-10k", method="tfidf", **names)


def test_other_landmarks_stand_beside_the_papers_mean():
    """A landmark of another data set is not Oxford's, whatever it is called."""
    named = ["all_souls", "tower"]
    table, cells, own = table_of(study(runs(landmarks=named), kind="landmarks", title="mine", landmarks=named))
    assert cells.loc[named, "printed"].isna().all()
    assert cells.loc[("mean", "tfidf"), "printed"] == 33.86
    (sheet,) = table.sheets
    assert [row[:2] for row in sheet.rows] == [("All Souls", "ours"), ("Tower", "ours"), ("mAP", "ours"), ("", "paper")]
    assert "Other landmarks. The paper's row is the mean over its 7 landmarks of Oxford." in own.differences(table)
    # the paper prints no mean of sparsity
    printed = select(own.printed_numbers, exhibit="table4", method="soml-tg")["value"]
    sparsity = table_of(own, 4)[1].loc[("mean", "soml-tg"), "printed"]
    assert (len(printed), sparsity) == (7, pytest.approx(printed.mean()))


def test_the_lead_over_oasis_is_of_words_features_and_constants():
    own = study(runs(), lead={"codebooks": [*WORDS]}, landmarks=list(LANDMARKS[:4]))
    figure, _ = drawn(own, "landmark/lead")
    frame = figure.frame.set_index(["words", "features", "constants", "method"])
    assert len(frame) == 2 * 2 * 2 * 2
    row = frame.loc[10_000, "400", "printed", "soml-tg"]
    assert (row["mean"], row["n"], row["n_features"]) == (pytest.approx(-3.0), 4, 390.0)
    assert row["low"] < -3.0 < row["high"] < 0
    others = [(10_000, "all", "printed", "soml-tg"), (1000, "all", "chosen", "soml-da")]
    assert frame.loc[others, "mean"].tolist() == pytest.approx([5.0, 1.0])
    first, second, *_ = figure.canvas.axes
    titles = [axis.get_title(loc="left")[5:] for axis in (first, second)]
    assert titles == ["S-TG, printed constants", "S-DA, printed constants"]
    assert named(first) == ["1,000 words", "10,000 words", "OASIS"]
    assert [*first.get_xticks(), *(tick.get_text() for tick in first.get_xticklabels())] == [390, 1850, "400", "all"]


def test_a_row_is_the_mean_and_spread_of_its_draws_with_printed(oxford):
    _, cells, _ = table_of(oxford)
    row, own = cells.loc["hertford", "tfidf"], 100 * of_tfidf(runs(), subset="hertford")["map"]
    assert (row["ours"], row["ours_std"]) == pytest.approx((own.mean(), own.std(ddof=1)))
    assert (row["printed"], row["printed_cell"], row["n"]) == (31.16, "31.16", 5)
    assert list(dict.fromkeys(cells.index.get_level_values("method"))) == oxford.methods


def test_the_mean_over_landmarks_is_taken_within_each_draw(oxford):
    own, key = of_tfidf(runs()), ("mean", "tfidf")
    by_draw = 100 * own.groupby("fold")["map"].mean()
    found = table_of(oxford)[1].loc[key, ["ours", "ours_std", "n"]]
    assert found.tolist() == pytest.approx([by_draw.mean(), by_draw.std(ddof=1), 5])
    # a draw without one of the landmarks has no mean over all of them
    gone = select(own, subset="bodleian", fold=3).index
    found = table_of(study(runs().drop(gone)))[1].loc[key, ["ours", "n"]]
    assert found.tolist() == pytest.approx([by_draw.drop(3).mean(), 4])


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"learning": {"negatives": 100}}, "A metric is learned from 100 negatives, the paper 500."),
        ({"landmarks": list(LANDMARKS[:6])}, "These are other landmarks than the paper's."),
        ({"codebooks": {"sift-10k": {"words": 10_000, "root": True}}}, "Descriptors are RootSIFT, the paper's SIFT."),
    ],
)
def test_other_settings_stand_with_printed_and_say_so(changes, note):
    table, _, own = table_of(study(runs(), **changes))
    assert note in own.differences(table)
    assert table.frame["printed"].notna().sum() >= 35


def test_a_fit_that_hit_its_limit_is_a_star_and_one_of_many_iterations_is_counted():
    limited = runs()
    failed = select(limited, representation="sift-1m", subset="bodleian", method="qpao", fold=2).index
    limited.loc[failed, "not_converged"] = "the fit took more than 600 s"
    limited.loc[limited["method"] == "qpao", "converged"] = True
    cut = select(limited, method="qpao", representation="sift-10k", subset="bodleian", fold=[0, 1]).index
    limited.loc[cut, "converged"] = False
    table, cells, oxford = table_of(study(limited, overrides={"qpao": {"time_limit": 600}}), 3)
    # the mean over landmarks goes with it
    assert set(cells.loc[[("bodleian", "qpao"), ("mean", "qpao")], "ours_cell"]) == {"*"}
    assert "±" in cells.loc[("hertford", "qpao"), "ours_cell"]
    (line,) = [line for line in headline(oxford).splitlines() if "QPAO" in line]
    assert line.split()[-1] == "*"
    lost = "* marks a fit that did not end within its time limit: QPAO (reconstructed) in 1 of 35 fits ("
    assert f"{lost}1,000,000 words)." in oxford.notes(table)
    # where its codebook is shown
    sentence = "Fits were stopped at the limit of iterations: QPAO (reconstructed) in 2 of 35 fits (10,000 words)."
    assert [sentence in oxford.notes(drawn) for drawn in (table_of(oxford)[0], table)] == [True, False]


def test_one_draw_has_no_spread():
    table, cells, once = table_of(study(runs(draws=1), learning={"draws": 1}))
    assert not cells["ours_cell"].str.contains("±").any()
    assert ("one draw" in headline(once), "±" in once.data_sentence(table)) == (True, False)


def test_the_gallery_shows_first_results_before_and_after_learning(tmp_path):
    tables, files = pictures(tmp_path)
    gallery, _ = drawn(study(runs(), files, tables=tables), "landmark/montage")
    assert [entry.words for entry in gallery.entries] == ["All Souls", "All Souls", "Bodleian"]
    gained = next(entry for entry in gallery.entries if entry.chosen == "largest gain")
    assert gained.box == (0.25, 0.25, 0.5, 0.75)
    assert gained.rankings[1].summary.startswith("3 of 9 of its landmark (33 %); average precision")
    words = [f"All Souls, {kind}" for kind in ("good", "ok", "good", "junk")]
    assert [found.words for found in gained.rankings[1].found[:5]] == [*words, ""], "the query's own image is left out"
    assert "with 1,000,000 words" in gallery.notes[1]
    files["ranks"] = [path for path in files["ranks"] if "tfidf" in path]
    with pytest.raises(NothingToShowError, match="no query has rankings by both TF-IDF and S-DA"):
        drawn(study(runs(), files, tables=tables), "landmark/montage")
