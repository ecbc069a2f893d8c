"""The landmark study: its plan, verdicts on claims, tables, figures and gallery."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from contract import FAILS, HOLDS, NOT_RUN, OPEN, asked_of, changed_study, drawn, ids_of, verdict_on
from made_landmark import LANDMARKS, SMALL, WORDS, pictures, runs, study
from plotted import named
from project import own_settings

from lookalike.core.files import write_table
from lookalike.exhibits.claims import claim_records, decide
from lookalike.exhibits.model import NothingToShowError
from lookalike.exhibits.results import select
from lookalike.ranking.comparison import corrected_t_test
from lookalike.studies.settings import checked

OXFORD, DEMO, COUNTS = "oxford5k", "demo_landmarks", "landmarks11"
study_of = partial(changed_study, "landmark")


def test_jobs_read_only_what_decides_their_results_and_no_words_where_counts_are_published():
    published = [id for id, codebook in own_settings()["codebooks"].items() if "published" in codebook]
    assert [study_of(OXFORD, **own).wants_words for own in ({}, {"codebooks": published})] == [False, True]
    oxford, other = study_of(OXFORD), study_of(OXFORD, batch="subset")
    asked = oxford.params("measure_lead", representation="sift-100k")
    assert (asked["setting"], asked["chosen_draws"]) == ("words=100000;features=all", 3)
    assert set(oxford.params("train_words", representation="sift-1m")["codebook"]) == {"words", "root", "iterations"}
    fits, again = (study.params("run", ["soml-da"], representation="sift-1m") for study in (oxford, other))
    assert (list(fits["specs"]), again) == (["soml-da"], fits)
    assert not {"title", "note", "batch"} & set(fits["specs"]["soml-da"])


@pytest.mark.parametrize(
    ("dataset", "methods", "after"),
    [
        (OXFORD, "", "soml-da"),
        (DEMO, "qpao soml-tg tfidf", "soml-tg"),
        (DEMO, "soml-da", None),
        (DEMO, "tfidf", None),
        # counts have no images
        (COUNTS, "", None),
    ],
)
def test_the_montage_shows_da_or_else_the_last_learned_method(dataset, methods, after):
    study = study_of(dataset, **{"methods": methods.split()} if methods else {})
    assert dataset == COUNTS or study.compared_methods() == (after and ("tfidf", after))
    ranked = {tuple(path.split("/")[3:6:2]) for path in study.planned_files().get("ranks", [])}
    assert ranked == {(study.codebooks[-1], method) for method in ("tfidf", after) if after}
    assert ("landmark/montage" in ids_of(study)) == (after is not None)
    assert (study.synthetic, study.spec("soml-tg").parameters["regularization"]) == (dataset == DEMO, 1e-5)


def test_a_users_landmarks_are_those_of_the_ground_truth_or_of_the_results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config, located = own_settings(), {"kind": "landmarks", "path": "photographs", "ground_truth": "truth"}
    own = {"landmarks": "all", "learning": {"positives": 2}, "methods": ["tfidf", "soml-tg"]}
    config["datasets"]["mine"] = located | {"shards": 1}
    config["landmark"]["mine"] = config["landmark"][DEMO] | own
    mine = checked(config).landmark["mine"]
    assert mine.landmark_names == []
    write_table(pd.DataFrame({"landmark": ["hall", "abbey", "hall"]}), Path("results/mine/learning_images.parquet"))
    assert mine.landmark_names == ["abbey", "hall"]
    Path("truth").mkdir()
    for kind, names in (("query", "oxc1_a 0 0 9 9"), ("good", "b\nc\nd"), ("ok", ""), ("junk", "")):
        Path(f"truth/tower_1_{kind}.txt").write_text(f"{names}\n")
    assert mine.landmark_names == ["tower"]
    assert mine.params("scan_landmarks")["data"] == located | {"fetch": True}
    # a change in a folder is noticed, and a folder that is away keeps the listing that its results were made with
    assert study_of(DEMO).listing("path") == ""
    Path("photographs").mkdir()
    first = mine.listing("path")
    Path("photographs/b.jpg").touch()
    assert first != mine.listing("path") != ""
    Path("results/mine/path_listing.txt").write_text(f"{first}\n")
    Path("photographs").rename("elsewhere")
    assert mine.listing("path") == first


BEATS = {"tfidf": 0.0, "qpao": 0.1, "oasis-diagonal": 0.05, "soml-tg": 0.08, "soml-da": 0.1}
ASKED = {id: replace(claim, limits=()) for id, claim in asked_of("landmark").items()}


def asked(claim, **changes):
    """A claim about one codebook, without gates."""
    return replace(ASKED[claim], settings=("codebook=10k",), **changes)


def test_a_claim_is_decided_on_all_codebooks_at_once_as_sparsity_is_and_names_those_that_it_lacks():
    falls = runs()
    falls.loc[(falls["representation"] == "sift-1m") & (falls["method"] == "soml-tg"), "sparsity"] *= 0.5
    for numbers, codebooks, verdict in ((runs(), WORDS, HOLDS), (falls, WORDS, FAILS), (runs(), SMALL, NOT_RUN)):
        assert verdict_on(ASKED["sparsity-grows"], study(numbers, codebooks=codebooks))[0] == verdict
    frame = claim_records(study(runs(), codebooks={"sift-10k": 10_000, "sift-100k": 100_000})).set_index("id")
    row = frame.loc["da-sparser", ["verdict", "tried", "untried"]]
    assert row.tolist() == [HOLDS, "10,000 words and 100,000 words", "1,000,000 words"]
    stopped = study(runs().assign(converged=lambda rows: rows["method"] != "qpao"), codebooks=SMALL)
    assert claim_records(stopped).set_index("id").loc["learning-helps", "reason"] == "limit"


def test_one_landmark_or_other_constants_decide_nothing():
    about = {"codebooks": SMALL, "methods": list(BEATS)}
    alone = study(runs(BEATS, landmarks=LANDMARKS[:1]), landmarks=list(LANDMARKS[:1]), **about)
    assert verdict_on(asked("qpao-above-oasis"), alone)[0] == OPEN
    for negatives, outcome in ((100, OPEN), (500, HOLDS)):
        own = study(runs(BEATS), kind="landmarks", learning={"negatives": negatives}, **about)
        found = decide(asked("soml-above-oasis"), own)
        assert (found.outcome, found.reason == "protocol") == (outcome, negatives == 100)
        printed = next(row.printed for row in found.rows if row.first == "soml-da")
        assert printed == pytest.approx(48.08 - 45.85)


@pytest.mark.parametrize(("gains", "verdict"), [((0.06, 0.07, 0.08), HOLDS), ((0.0, 0.0, 0.21), OPEN)])
def test_what_all_landmarks_of_a_draw_share_counts_as_often_as_there_are_draws(gains, verdict):
    """Seven landmarks that gain alike in one draw of three, by its chosen constants, are no seven witnesses.

    Nor are the draws of a landmark, which the test over landmarks averages.
    """
    numbers = runs(BEATS, draws=3)
    numbers["map"] += numbers["fold"].map(dict(enumerate(gains))) * (numbers["method"] == "soml-da")
    found = study(numbers, codebooks=SMALL, methods=list(BEATS), learning={"draws": 3})
    assert verdict_on(asked("da-above-tg", parameters={"low": 2.5}), found)[0] == verdict
    test, sampled = found.contrasts.intervals("codebook=10k", "map", "soml-da", "soml-tg")
    by_landmark = select(numbers, representation="sift-10k").pivot_table("map", "subset", "method")
    expected = corrected_t_test(100 * (by_landmark["soml-da"] - by_landmark["soml-tg"]), 1, 0)
    assert (test.mean, test.low, test.n) == (pytest.approx(expected.mean), pytest.approx(expected.low), 7)
    assert (test.low > 2.5, sampled.low > 2.5) == (True, verdict == HOLDS)
    assert (sampled.low < test.mean < sampled.high, sampled.interval) == (True, "landmarks and samples")


def table_of(study, number=1):
    """A table of the paper, its cells by landmark and method, and the study as it draws it."""
    table, study = drawn(study, f"soml-aaai-2014/table{number}")
    return table, table.frame.set_index(["landmark", "method"]), study


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


def test_a_draw_without_one_of_the_landmarks_has_no_mean_over_all_of_them():
    numbers = runs()
    of_tfidf = select(numbers, representation="sift-10k", method="tfidf")
    gone = select(of_tfidf, subset="bodleian", fold=3).index
    _, cells, _ = table_of(study(numbers.drop(gone)))
    by_draw = 100 * of_tfidf.groupby("fold")["map"].mean()
    assert cells.loc[("mean", "tfidf"), ["ours", "n"]].tolist() == pytest.approx([by_draw.drop(3).mean(), 4])


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


def test_a_fit_that_hit_its_limit_is_a_star_many_iterations_are_counted_and_one_draw_has_no_spread():
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
    lost = "* marks a fit that did not end within its time limit: QPAO (reconstructed) in 1 of 35 fits ("
    assert f"{lost}1 million words)." in oxford.notes(table)
    # where its codebook is shown
    sentence = "Fits were stopped at the limit of iterations: QPAO (reconstructed) in 2 of 35 fits (10,000 words)."
    assert [sentence in oxford.notes(drawn) for drawn in (table_of(oxford)[0], table)] == [True, False]
    table, cells, once = table_of(study(runs(draws=1), learning={"draws": 1}))
    assert not cells["ours_cell"].str.contains("±").any()
    assert once.data_sentence(table).endswith("one sample.")


def test_the_gallery_shows_first_results_before_and_after_learning(tmp_path):
    tables, files = pictures(tmp_path)
    gallery, _ = drawn(study(runs(), files, tables=tables), "landmark/montage")
    assert [entry.words for entry in gallery.entries] == ["All Souls", "All Souls", "Bodleian"]
    gained = next(entry for entry in gallery.entries if entry.chosen == "largest gain")
    assert gained.box == (0.25, 0.25, 0.5, 0.75)
    assert gained.rankings[1].summary.startswith("3 of 9 of its landmark (33 %); average precision")
    words = [f"All Souls, {kind}" for kind in ("good", "ok", "good", "junk")]
    assert [found.words for found in gained.rankings[1].found[:5]] == [*words, ""], "the query's own image is left out"
    assert "with 1 million words" in gallery.notes[1]
    files["ranks"] = [path for path in files["ranks"] if "tfidf" in path]
    with pytest.raises(NothingToShowError, match="no query has rankings by both TF-IDF and S-DA"):
        drawn(study(runs(), files, tables=tables), "landmark/montage")
