"""The landmark study's tables, figures and montage: what is averaged, what stands beside it, what is not judged."""

import pytest
from made_landmark import LANDMARKS, WORDS, fits, metrics, pictures, results, study, tables

from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.results import select
from lookalike.exhibits.words import headline
from lookalike.studies.landmark import exhibits


@pytest.fixture(scope="module")
def oxford():
    return study(tables())


def table_of(study, place=0, first=1):
    """The paper's table of precision with one of its codebooks, and the study as it draws it."""
    exhibit = exhibits_of("landmark")[f"soml-aaai-2014/table{first + place}"]
    study = study.drawing(exhibit)
    return exhibit.draw(study), study


def cells(study):
    return table_of(study)[0].frame.set_index(["landmark", "method"])


def numbers_of(table, **names):
    return select(table, representation="sift-10k", method="tfidf", metric="map", **names)


def test_other_landmarks_stand_beside_the_papers_mean():
    """A landmark of another data set is not Oxford's, whatever it is called."""
    named = ["all_souls", "tower"]
    own = study(tables(metrics=metrics(landmarks=named)), kind="landmarks", title="my landmarks", landmarks=named)
    table, own = table_of(own)
    cells = table.frame.set_index(["landmark", "method"])
    assert cells.loc[named, "printed"].isna().all()
    assert cells.loc[("mean", "tfidf"), "printed"] == 33.86
    (sheet,) = table.sheets
    assert [row[:2] for row in sheet.rows] == [("All Souls", "ours"), ("Tower", "ours"), ("mAP", "ours"), ("", "paper")]
    assert "The paper's row is the mean over its 7 landmarks of Oxford." in own.notes(table)
    # the paper prints no mean of sparsity
    sparsity = table_of(own, first=4)[0].frame.set_index(["landmark", "method"])
    printed = select(own.printed_numbers, exhibit="table4", method="soml-tg")["value"]
    assert (len(printed), sparsity.loc[("mean", "soml-tg"), "printed"]) == (7, pytest.approx(printed.mean()))
    at_home = table_of(study(tables()))[0].frame.set_index("landmark")
    assert at_home.loc["all_souls", "printed"].notna().any()


def test_the_lead_over_oasis_is_of_words_features_and_constants():
    study_ = study(tables(results=results()), lead={"codebooks": [*WORDS]}, landmarks=list(LANDMARKS[:4]))
    drawn = exhibits.lead_over_features(study_)
    frame = drawn.frame.set_index(["words", "features", "constants", "method"])
    assert len(frame) == 2 * 2 * 2 * 2
    row = frame.loc[10_000, "400", "printed", "soml-tg"]
    assert (row["mean"], row["n"], row["n_features"]) == (pytest.approx(-3.0), 4, 390.0)
    assert row["low"] < -3.0 < row["high"] < 0
    assert frame.loc[10_000, "all", "printed", "soml-tg"]["mean"] == pytest.approx(5.0)
    assert frame.loc[1000, "all", "chosen", "soml-da"]["mean"] == pytest.approx(1.0)
    assert [panel.title[5:] for panel in drawn.panels[:2]] == ["S-TG, printed constants", "S-DA, printed constants"]
    assert [series.name for series in drawn.panels[0].series] == ["1,000 words", "10,000 words"]
    assert drawn.panels[0].x.ticks == ((390.0, "400"), (1850.0, "all"))


def test_a_row_is_the_mean_and_spread_of_its_draws_with_printed(oxford):
    row, own = cells(oxford).loc["hertford", "tfidf"], numbers_of(metrics(), subset="hertford")
    assert (row["ours"], row["ours_std"]) == pytest.approx((100 * own["value"].mean(), 100 * own["value"].std(ddof=1)))
    assert (row["printed"], row["printed_cell"], row["n"]) == (31.16, "31.16", 5)
    assert list(dict.fromkeys(cells(oxford).reset_index()["method"])) == oxford.methods


def test_the_mean_over_landmarks_is_taken_within_each_draw(oxford):
    own = numbers_of(metrics())
    by_draw, key = 100 * own.groupby("fold")["value"].mean(), ("mean", "tfidf")
    assert cells(oxford).loc[key, ["ours", "ours_std", "n"]].tolist() == [
        pytest.approx(by_draw.mean()),
        pytest.approx(by_draw.std(ddof=1)),
        5,
    ]
    # a draw without one of the landmarks has no mean over all of them
    gone = own[(own["subset"] == "bodleian") & (own["fold"] == 3)].index
    fewer = cells(study(tables(metrics=metrics().drop(gone))))
    assert fewer.loc[key, ["ours", "n"]].tolist() == [pytest.approx(by_draw.drop(3).mean()), 4]


def test_other_settings_stand_with_printed_and_say_so():
    for changes, note in (
        ({"learning": {"negatives": 100}}, "A metric is learned from 100 negatives, the paper 500."),
        ({"landmarks": list(LANDMARKS[:6])}, "These are other landmarks than the paper's."),
        ({"codebooks": {"sift-10k": {"words": 10_000, "root": True}}}, "Descriptors are RootSIFT, the paper's SIFT."),
    ):
        table, own = table_of(study(tables(), **changes))
        assert note in own.notes(table)
        assert table.frame["printed"].notna().sum() >= 35


def test_a_fit_that_hit_its_limit_is_a_star_and_one_of_many_iterations_is_counted():
    limited = fits()
    failed = select(limited, representation="sift-1m", subset="bodleian", method="qpao", fold=2).index
    limited.loc[failed, "not_converged"] = "the fit took more than 600 s"
    limited.loc[limited["method"] == "qpao", "converged"] = True
    cut = select(limited, method="qpao", representation="sift-10k", subset="bodleian", fold=[0, 1]).index
    limited.loc[cut, "converged"] = False
    table, oxford = table_of(study(tables(fits=limited), overrides={"qpao": {"time_limit": 600}}), place=2)
    frame = table.frame.set_index(["landmark", "method"])
    # the mean over landmarks goes with it
    assert set(frame.loc[[("bodleian", "qpao"), ("mean", "qpao")], "ours_cell"]) == {"*"}
    assert "±" in frame.loc[("hertford", "qpao"), "ours_cell"]
    (line,) = [line for line in headline(oxford).splitlines() if "QPAO" in line]
    assert line.split()[-1] == "*"
    lost = (
        "* marks a fit that did not end within its time limit: QPAO (reconstructed) in 1 of 35 fits (1,000,000 words)."
    )
    assert lost in oxford.notes(table)
    # where its codebook is shown
    sentence = "Fits were stopped at the limit of iterations: QPAO (reconstructed) in 2 of 35 fits (10,000 words)."
    assert [sentence in oxford.notes(drawn) for drawn in (table_of(oxford)[0], table)] == [True, False]


def test_the_headline_has_a_column_a_codebook_and_one_draw_no_spread(oxford):
    lines = headline(oxford).splitlines()
    assert lines[1].split("  ")[-3:] == [f"mAP (%), {words} words" for words in ("10,000", "100,000", "1,000,000")]
    assert lines[2].split()[0] == "TF-IDF"
    assert "Means over 7 landmarks; ± standard deviation over 5 draws." in " ".join(lines)
    once = study(tables(metrics=metrics(draws=1), fits=fits(draws=1)), learning={"draws": 1})
    assert not cells(once)["ours_cell"].str.contains("±").any()
    assert "one draw" in headline(once)
    assert "±" not in once.data_sentence(table_of(once)[0])


def test_the_gallery_shows_first_results_before_and_after_learning(tmp_path):
    given, files = pictures(tmp_path)
    drawn = exhibits.first_results(study({**tables(), **given}, files))
    assert [entry.words for entry in drawn.entries] == ["All Souls", "All Souls", "Bodleian"]
    gained = next(entry for entry in drawn.entries if entry.chosen == "largest gain")
    assert gained.box == (0.25, 0.25, 0.5, 0.75)
    assert gained.rankings[1].summary.startswith("3 of 9 of its landmark (33 %); average precision")
    words = [f"All Souls, {kind}" for kind in ("good", "ok", "good", "junk")]
    assert [found.words for found in gained.rankings[1].found[:5]] == [*words, ""], "the query's own image is left out"
    assert "with 1,000,000 words" in drawn.notes[1]

    files["ranks"] = [path for path in files["ranks"] if "tfidf" in path]
    drawn = exhibits.first_results(study({**tables(), **given}, files))
    assert drawn.notes[0] == "no query has rankings by both TF-IDF and S-DA"
