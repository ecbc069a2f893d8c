"""The landmark study's tables, figures and montage: what is averaged, what stands beside it, what is not judged."""

import math

import pandas as pd
import pytest
from contract import check_exhibits, check_not_run
from small_landmark import LANDMARKS, WORDS, dimensions, fits, metrics, pictures, results, study, tables

from lookalike.exhibits.headline import headline
from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.sheets import sheets_of
from lookalike.studies.landmark import exhibits
from lookalike.studies.landmark.rankings import MAP, SPARSITY
from lookalike.studies.metrics import select

TABLES = [f"soml-aaai-2014/table{number}" for number in range(1, 10)]
DATA = {"landmark/time": "simulated rows", "landmark/montage": "Oxford5K"}
"""What the second sentence of a caption has, where the exhibit is of other data than the study's."""
NOT_RUN = "not run: put oxbuild_images-v1.tgz at data/oxford5k"


@pytest.fixture(scope="module")
def oxford():
    return study(tables())


def table_of(study, place=0):
    """The paper's table of precision with one of its codebooks, and the study as it draws it."""
    study = study.drawing(exhibits_of("landmark")[f"soml-aaai-2014/table{1 + place}"])
    return exhibits.quantity_table(study, MAP), study


def cells(study):
    return table_of(study)[0].frame.set_index(["landmark", "method"])


def numbers_of(table, **names):
    return select(table, representation="sift-10k", method="tfidf", metric="map", **names)


def test_every_exhibit_is_drawn_and_says_which_data_it_shows(tmp_path):
    given, files = pictures(tmp_path)
    missing = study({}, not_run=NOT_RUN)
    check_not_run("landmark", missing, tmp_path / "not run")
    assert headline(missing) == f"Oxford5K: {NOT_RUN}\n"
    sidecars = check_exhibits(
        "landmark",
        study({**tables(results=results()), **given}, files, lead={"codebooks": [*WORDS]}),
        tmp_path / "oxford",
        printed=[*TABLES, "soml-aaai-2014/text"],
    )
    assert [sum(sidecars[id]["statuses"].values()) for id in TABLES] == [40] * 3 + [28] * 6
    assert [sidecars[id]["state"] == "not comparable" for id in TABLES] == [False] * 6 + [True] * 3
    for id, sidecar in sidecars.items():
        assert DATA.get(id, "Oxford5K, ") in sidecar["caption"][1]
        ours = any(note.startswith("QPAO (reconstructed): ours") for note in sidecar["notes"])
        assert ours == (
            sidecar["name"] not in ("literal", "gamma", "order", "lead", "lead_numbers", "montage", "text")
        ), id


def test_other_landmarks_stand_beside_the_papers_mean_without_a_verdict():
    """A landmark of another data set is not Oxford's, whatever it is called."""
    named = ["all_souls", "tower"]
    own = study(tables(metrics=metrics(landmarks=named)), kind="landmarks", title="my landmarks", landmarks=named)
    table, own = table_of(own)
    cells = table.frame.set_index(["landmark", "method"])
    assert cells.loc[named, "printed"].isna().all()
    assert cells.loc[("mean", "tfidf"), ["printed", "status"]].tolist() == [33.86, "not comparable"]
    (sheet,) = sheets_of(table)
    assert [row[:2] for row in sheet.rows] == [("All Souls", "ours"), ("Tower", "ours"), ("mAP", "ours"), ("", "paper")]
    assert table.notes == ("The paper's row is the mean over its 7 landmarks of Oxford.",)
    assert "Not comparable with the printed numbers: the paper's landmarks are others." in own.notes(table)
    # the paper prints no mean of sparsity
    own = own.drawing(exhibits_of("landmark")["soml-aaai-2014/table4"])
    sparsity = exhibits.quantity_table(own, SPARSITY).frame.set_index(["landmark", "method"])
    printed = own.paper_values.query("metric == 'sparsity' and representation == '10k' and method == 'soml-tg'")[
        "value"
    ]
    assert sparsity.loc[("mean", "soml-tg"), "printed"] == pytest.approx(printed.mean())
    at_home = table_of(study(tables()))[0].frame.set_index("landmark")
    assert at_home.loc["all_souls", "printed"].notna().any()


def test_a_table_of_the_paper_is_of_its_number_of_words_and_of_real_photographs():
    named = {"sift-1k": 1000, "sift-100k": 100_000}
    own = study(tables(metrics=metrics(codebooks=named)), codebooks=named)
    assert {exhibit.id for exhibit in own.own_exhibits()} & {*TABLES} == {f"soml-aaai-2014/table{n}" for n in (2, 5, 8)}
    margins = table_of(own, place=1)[0].margins
    assert all(not math.isnan(margin.contrast.printed) for margin in margins)
    assert {margin.printed_best for margin in margins} != {""}
    painted = study(tables(), kind="synthetic_landmarks", landmarks=list(LANDMARKS))
    assert not [exhibit.id for exhibit in painted.own_exhibits() if exhibit.paper == "soml-aaai-2014"]


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
    places = "with 1,000 words and 400 features, with 10,000 words and 400 features"
    assert drawn.notes[0] == f"With printed constants, S-TG is below OASIS {places}."
    assert drawn.panels[0].x.ticks == ((390.0, "400"), (1850.0, "all"))
    sheets = sheets_of(exhibits.lead_numbers(study_))
    assert [row[0] for sheet in sheets for row in sheet.rows] == ["400 features", "all features"] * 2
    assert any("−3.0 points [" in cell for cell in sheets[0].rows[0])


def test_a_row_is_the_mean_and_spread_of_its_draws_beside_print(oxford):
    row, own = cells(oxford).loc["hertford", "tfidf"], numbers_of(oxford.table("metrics"), subset="hertford")
    assert (row["ours"], row["ours_std"]) == pytest.approx((100 * own["value"].mean(), 100 * own["value"].std(ddof=1)))
    assert (row["printed"], row["printed_cell"], row["n_draws"]) == (31.16, "31.16", 5)
    assert list(dict.fromkeys(cells(oxford).reset_index()["method"])) == oxford.methods


def test_the_mean_over_landmarks_is_taken_within_each_draw(oxford):
    own = numbers_of(oxford.table("metrics"))
    by_draw, key = 100 * own.groupby("fold")["value"].mean(), ("sift-10k", "mean", "tfidf", "map")
    assert oxford.summary[key] == (pytest.approx(by_draw.mean()), pytest.approx(by_draw.std(ddof=1)), 5)
    # a draw without one of the landmarks has no mean over all of them
    gone = own[(own["subset"] == "bodleian") & (own["fold"] == 3)].index
    mean, _, n_draws = study(tables(metrics=oxford.table("metrics").drop(gone))).summary[key]
    assert (mean, n_draws) == (pytest.approx(by_draw.drop(3).mean()), 4)


def test_other_settings_stand_beside_print_without_a_verdict():
    fewer = "other images to learn from than the paper's (100 negatives, the paper 500)"
    for changes, reason in (
        ({"learning": {"negatives": 100}}, fewer),
        ({"landmarks": list(LANDMARKS[:6])}, "other landmarks than the paper's"),
        ({"codebooks": {"sift-10k": {"words": 10_000, "root": True}}}, "RootSIFT"),
    ):
        judged = cells(study(tables(), **changes)).query("status != ''")
        assert set(zip(judged["status"], judged["reason"], strict=True)) == {("not comparable", reason)}
        assert judged["printed"].notna().all()


def test_a_fit_that_hit_its_limit_is_a_star_and_one_of_many_iterations_is_counted():
    limited = fits()
    failed = select(limited, representation="sift-1m", subset="bodleian", method="qpao", fold=2).index
    limited.loc[failed, "not_converged"] = "the fit took more than 600 s"
    limited.loc[limited["method"] == "qpao", "converged"] = True
    cut = select(limited, method="qpao", representation="sift-10k", subset="bodleian", fold=[0, 1]).index
    limited.loc[cut, "converged"] = False
    table, oxford = table_of(study(tables(fits=limited)), place=2)
    frame = table.frame.set_index(["landmark", "method"])
    # the mean over landmarks goes with it
    assert set(frame.loc[[("bodleian", "qpao"), ("mean", "qpao")], "ours_cell"]) == {"*"}
    assert "±" in frame.loc[("hertford", "qpao"), "ours_cell"]
    assert frame.loc[("bodleian", "qpao"), "reason"] == "did not converge: the fit took more than 600 s (1 of 5 draws)"
    (line,) = [line for line in headline(oxford).splitlines() if "QPAO" in line]
    assert line.split()[-1] == "*"
    assert "QPAO (reconstructed) on Bodleian, 1,000,000 words: the fit took" in " ".join(oxford.notes(table))
    # where its codebook is shown
    sentence = "Stopped at the limit of iterations: QPAO (reconstructed) in 2 of 35 fits (10,000 words)."
    assert [sentence in oxford.notes(drawn) for drawn in (table_of(oxford)[0], table)] == [True, False]


def test_the_headline_has_a_column_a_codebook_and_one_draw_no_spread(oxford):
    lines = headline(oxford).splitlines()
    assert lines[1].split("  ")[-3:] == [f"mAP (%), {words} words" for words in ("10,000", "100,000", "1,000,000")]
    assert lines[2].split()[0] == "TF-IDF"
    assert "Means over 7 landmarks; ± standard deviation over 5 draws." in " ".join(lines)
    once = study(tables(metrics=metrics(draws=1), fits=fits(draws=1)), learning={"draws": 1})
    assert not cells(once)["ours_cell"].str.contains("±").any()
    assert "one draw" in headline(once)
    assert "±" not in once.data_sentence(exhibits.query_region(once))


def test_constants_of_another_size_decide_nothing(oxford):
    assert oxford.undecided == ""
    assert study(tables(), kind="landmarks").undecided == "", "as many images as in the paper"
    own = {"kind": "landmarks", "learning": {"negatives": 100}}
    for changed, methods in ([], "S-TG and S-DA"), (["soml-tg"], "S-DA"), (["soml-tg", "soml-da"], ""):
        sentence = study(tables(), **own, overrides={method: {} for method in changed}).undecided
        assert sentence.partition(" ran with their constants")[0] == methods
        assert ("7 images of a landmark and 100 others, in the paper 7 and 500" in sentence) == bool(methods)


def test_means_over_landmarks_by_region_and_by_form(oxford):
    table = exhibits.query_region(oxford).frame.set_index(["representation", "region", "method"])["ours"]
    assert len(table) == 3 * 2 * 5
    assert table["sift-1m", "box", "tfidf"] - table["sift-1m", "full", "tfidf"] == pytest.approx(4.0)
    literal = exhibits.literal_forms(oxford)
    table = literal.frame.set_index(["representation", "method", "metric"])
    methods = list(dict.fromkeys(table.index.get_level_values("method")))
    assert methods == ["tfidf", "soml-tg", "soml-tg-literal", "soml-da"]
    assert table.loc[("sift-10k", "soml-tg-literal", "update_share"), "ours"] == pytest.approx(100)
    assert table.loc[("sift-10k", "tfidf", "sparsity"), "ours_cell"] == "-"
    printed, true = (table.loc[("sift-10k", name, "map"), "ours"] for name in ("soml-tg-literal", "soml-tg"))
    sentence = f"it gives {printed:.1f}% mAP where the true one gives {true:.1f}% (S-TG, 10,000 words)"
    assert sentence in literal.notes[0]


def test_times_are_medians_with_the_printed_means_beside_them():
    small = dimensions().query("n_features == 10_000").assign(n_features=1000, nonzeros=500.0)
    timed = study(tables(dimensions=pd.concat([small, dimensions()])))
    drawn = exhibits.time_over_features(timed)
    frame = drawn.frame.set_index(["series", "method", "n_features"])
    own = select(dimensions(), learner="oasis-diagonal", n_features=100_000)["cpu_seconds"]
    row = frame.loc["ours", "oasis-diagonal", 100_000]
    assert (row["seconds"], row["low"], row["high"], row["n_repeats"]) == (own.median(), own.min(), own.max(), 3)
    printed = select(timed.printed, exhibit="table9", method="oasis")["value"].mean()
    assert frame.loc[("printed", "oasis-diagonal", 1_000_000), "seconds"] == pytest.approx(printed)
    assert ("ours", "qpao", 1_000_000) not in frame.index, "it did not end"
    inner, whole = (frame.loc[(name, "soml-tg", 10_000), "seconds"] for name in ("without pair products", "ours"))
    assert inner == pytest.approx(whole - 0.04)
    for sentence in (
        "21,000 triplets (QPAO (reconstructed), S-TG, S-DA) and 100,000 triplets (OASIS), median of 3",
        "QPAO (reconstructed) at d = 1,000,000 is not drawn: the fit took more than 600 s",
        "about 2,000 non-zeros each (500 at d = 1,000)",
    ):
        assert sentence in " ".join(drawn.notes)
    assert {series.name for series in drawn.panels[0].series} >= {"QPAO (reconstructed)", "QPAO, printed"}


def test_a_point_of_a_curve_is_a_mean_over_landmarks_and_draws(oxford):
    drawn = exhibits.sparsity_over_lambda(oxford)
    own = select(oxford.table("metrics"), representation="sift-100k", method="soml-da", x=1e-3)
    frame = select(drawn.frame, representation="sift-100k").set_index(["series", "regularization"])
    row = frame.loc["soml-da", 1e-3]
    assert row["sparsity"] == pytest.approx(100 * select(own, metric="sweep_sparsity")["value"].mean())
    assert row["map"] == pytest.approx(100 * select(own, metric="sweep_map")["value"].mean())
    series = frame.reset_index().set_index("series")
    assert series.loc[["tfidf, printed", "soml-da, printed"], "map"].to_list() == [48.51, 61.08]
    rings = [series for series in drawn.panels[1].series if series.name == "lambda of the study"]
    assert {ring.where["regularization"] for ring in rings} == {1e-5, 1e-6}


def test_sweeps_of_few_landmarks_and_draws_say_so_and_stand_beside_tf_idf_of_the_same(oxford):
    numbers = metrics()
    others = numbers["subset"].isin(LANDMARKS[3:]) | numbers["fold"].gt(0)
    numbers.loc[others & numbers["method"].eq("tfidf"), "value"] += 0.2
    cost, order = exhibits.qpao_over_cost(study(tables(metrics=numbers))), exhibits.triplet_order(oxford)
    lines = {line.name: line.at for line in cost.panels[1].lines}
    assert lines == {"TF-IDF": pytest.approx(35), "C of the tables": 10.0}
    for drawn, sizes in ((cost, ("3 landmarks", "one draw")), (order, ("7 landmarks", "means over 2 draws"))):
        assert all(size in oxford.data_sentence(drawn) for size in sizes)
    shuffled, sorted_ = (select(order.frame, kind=kind)["map"].to_numpy() for kind in ("shuffled", "by_negative"))
    assert shuffled - sorted_ == pytest.approx(10)
    assert [panel.title for panel in cost.panels[:1]] == ["(A)  10,000 words, 3 of 7 landmarks"]
    assert (order.frame["low_map"] < order.frame["map"]).all()
    assert order.panels[0].series[0].low == "low_map"
    assert not cost.panels[0].series[0].low, "one draw has no spread"


def test_gamma_is_varied():
    drawn = exhibits.precision_over_gamma(study(tables()))
    assert [series.name for series in drawn.panels[0].series] == ["S-DA, rho = 1"]
    assert {line.name for line in drawn.panels[0].lines} == {"TF-IDF", "OASIS", "gamma in print"}
    assert select(drawn.frame, representation="sift-1m")["map"].tolist() == pytest.approx([1.0, 10.0])


def test_a_study_of_few_methods_has_their_points_alone():
    few = ["tfidf", "soml-tg"]
    numbers = metrics()
    numbers.loc[(numbers["metric"] == "sweep_sparsity") & (numbers["x"] == 1e-3), "value"] = 1.0
    drawn = exhibits.sparsity_over_lambda(study(tables(metrics=numbers), methods=few))
    axis, places = drawn.panels[0].x, select(drawn.frame, representation="sift-10k")["nonzero"].dropna()
    assert axis.low < places.min() < places.max() < axis.high, "a metric without a weight still has a place"
    without = tables(metrics=metrics({"tfidf": 0.0, "soml-tg": 0.1}), fits=fits().query("method == 'soml-tg'"))
    row = cells(study(without, methods=few)).loc[("hertford", "qpao")]
    assert (row["ours_cell"], row["status"], row["reason"]) == ("-", "no result", "QPAO (reconstructed) was not run")


def test_the_montage_shows_the_largest_gain_and_the_largest_loss(tmp_path):
    given, files = pictures(tmp_path)
    drawn = exhibits.first_results(study({**tables(), **given}, files))
    chosen = drawn.frame.drop_duplicates(["chosen_as", "method"]).set_index(["chosen_as", "method"])
    assert chosen.loc[("largest gain", "soml-da"), "query"] == "all_souls_1"
    assert set(chosen.loc["largest loss"]["query"]) <= {"all_souls_2", "bodleian_1"}
    assert (drawn.frame["rank"] == drawn.frame["place"] + 1).all(), "the query's own image is the first of the list"
    assert [tile.corner for tile in drawn.rows[1][1:]] == [str(place) for place in range(1, 9)], "it is not counted"
    assert drawn.rows[0][0].box == (0.25, 0.25, 0.5, 0.75)
    assert "of all 3 pairs of a query and a draw, with 1,000,000 words, by what S-DA gains over" in drawn.notes[0]
    assert [entry.words for entry in drawn.entries] == ["All Souls", "All Souls", "Bodleian"]
    gained = next(entry for entry in drawn.entries if entry.chosen == "largest gain")
    assert gained.rankings[1].summary.startswith("3 of 9 of its landmark (33 %); average precision")
    words = [f"All Souls, {kind}" for kind in ("good", "ok", "good", "junk")]
    assert [found.words for found in gained.rankings[1].found[:5]] == [*words, ""]

    limited = fits()
    limited.loc[limited["method"] == "soml-da", "not_converged"] = "the fit took more than 600 s"
    files["ranks"] = [path for path in files["ranks"] if "tfidf" in path]
    drawn = exhibits.first_results(study({**tables(fits=limited), **given}, files))
    assert drawn.notes[0].startswith("no query has rankings by both TF-IDF and S-DA: the fit took more than 600 s")
