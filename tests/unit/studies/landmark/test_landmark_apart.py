"""SOML apart from the study's images: on photographs' visterms, and on simulated bags of words beside print."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from contract import check_plan, contrasted, with_tables
from project import own_settings
from small_landmark import GAINS, PRINTED, SECTION, given, photographs, readings, study, tables

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.methods import Fit
from lookalike.data.visterm_folder import write_visterm_folder
from lookalike.exhibits.headline import headline
from lookalike.features.visterms import TfidfVisterms
from lookalike.studies.landmark import apart_exhibits, bags
from lookalike.studies.landmark import readings as readings_said
from lookalike.studies.landmark.photographs import class_queries, learn_photographs
from lookalike.studies.landmark.settings import Bags, LearningImages, Photographs, Readings
from lookalike.studies.metrics import select
from lookalike.studies.rooms import study_of
from lookalike.studies.settings import checked

SMALL = Bags(images=600, landmarks=2, features=300, visibility=0.6)
SPECS = {
    "tfidf": Fit(learner="TFIDF"),
    "oasis-diagonal": Fit(learner="DiagonalOASIS", parameters={"n_steps": 500}),
    "soml-da": Fit(learner="SOMLDA", parameters={"gamma": 1e-3, "rho": 0.1}),
}
FEW = LearningImages(positives=4, negatives=30, draws=2)


def test_bags_show_landmarks_and_repeat_features():
    plain, again, bursty = (bags.simulated_bags(SMALL, 2000, times, 1, 0) for times in (1.0, 1.0, 4.0))
    assert (plain.counts != again.counts).nnz == 0, "the same seed gives the same bags"
    for collection in (plain, bursty):
        # as many features whatever their burstiness
        assert collection.counts.sum() / 600 == pytest.approx(300, rel=0.1)
        # a rectangle holds features of its image
        whole = collection.counts[collection.queries["image_id"].to_numpy()]
        assert (collection.query_counts - whole).max() <= 0
        assert 0.1 < collection.query_counts.sum() / whole.sum() < 0.9
    assert plain.counts.nnz > 2 * bursty.counts.nnz
    assert plain.queries["landmark"].tolist() == ["all_souls"] * 5 + ["ashmolean"] * 5
    good, ok = (len(select(plain.relevance, query="ashmolean_1", relevance=kind)) for kind in ("good", "ok"))
    assert (good, ok) == bags.LANDMARKS["ashmolean"]
    rows = TfidfVisterms(dtype="float64").fit_transform(plain.counts)
    alike = (rows @ rows[[0]].T).toarray().ravel()
    assert alike[1:24].mean() > 1.2 * alike[103:].mean(), "images of a landmark are more alike than others"


def test_every_method_gamma_and_collection_has_its_numbers_and_times():
    varied = {"words": [500, 2000], "burstiness": [1, 3], "gamma": [1e-2]}
    settings = Readings(methods=list(SPECS), **varied, bags=SMALL, learning=FEW)
    found = [bags.read_algorithms(settings, SPECS, *cell, seed=4) for cell in settings.cells()]
    numbers, times = (pd.concat(frames, ignore_index=True) for frames in zip(*found, strict=True))
    cells = numbers.groupby(["representation", "method", "metric"]).size()
    assert set(cells) == {2 * 2}, "two landmarks of two collections"
    assert len(cells) == 2 * 2 * (3 + 2 + 2)
    assert list(dict.fromkeys(numbers["representation"])) == [
        f"{words} words, burstiness {times}" for words in ("500", "2,000") for times in (1, 3)
    ]
    assert select(numbers, metric="gamma_map")["x"].unique().tolist() == [1e-2]
    assert len(times) == 4 * 4 * (3 + 1)
    again, _ = bags.read_algorithms(settings, SPECS, *settings.cells()[0], seed=4)
    pd.testing.assert_frame_equal(found[0][0], again)


def test_the_diagram_names_the_order_that_intervals_tell_and_calls_ties_ties():
    drawn = apart_exhibits.order_of_methods(study(tables()))
    cells = drawn.frame.dropna(subset="gamma").set_index(["words", "burstiness", "gamma"])
    in_order, tied, some_below, none_helps = readings_said.ORDERS
    assert cells.loc[(10_000, 1.0, 1e-4), ["order", "gap"]].tolist() == [in_order, pytest.approx(10.0)]
    # S-DA alone is below TF-IDF with the larger gamma, and all of SOML with more burstiness
    assert set(cells.xs(1e-2, level="gamma")["order"]) == {none_helps}
    assert set(cells.xs(4.0, level="burstiness")["order"]) == {none_helps}
    # on each landmark in print's order by its mean alone
    wide = readings()
    is_oasis = wide["readings"]["method"].eq("oasis-diagonal")
    spread = wide["readings"]["subset"].map({"all_souls": 0.2, "ashmolean": -0.2, "bodleian": 0.0})
    wide["readings"].loc[is_oasis, "value"] += spread[is_oasis]
    others = readings(GAINS | {"soml-da": 0.08, "soml-tg": 0.09}), readings(GAINS | {"soml-tg": 0.01}), wide
    for numbers, order in zip(others, (in_order, some_below, tied), strict=True):
        frame = apart_exhibits.order_of_methods(study(tables(**numbers))).frame
        assert select(frame, words=10_000, burstiness=1.0, gamma=1e-4)["order"].tolist() == [order]
    assert len(drawn.panels) == 2 * 2
    lines = select(drawn.frame, series="soml-da", words=10_000, burstiness=1.0)
    assert lines["map"].item() == pytest.approx(55 + 1 / 3)
    assert lines["low"].item() < lines["map"].item() < lines["high"].item()


def test_the_fingerprint_says_which_reading_is_nearest_to_print():
    drawn = apart_exhibits.fingerprint(study(tables()))
    frame = drawn.frame.set_index(["series", "words", "metric"])
    assert frame.loc[("soml-da", 10_000, "sparsity"), "value"] == pytest.approx(100 * (0.7 + 0.02))
    assert frame.loc[("soml-da, printed", 10_000, "sparsity"), "value"] == pytest.approx(71.33, abs=0.01)
    nearest = [note for note in drawn.notes if note.startswith("Mean distance from the printed sparsities")]
    assert [note.partition("burstiness 1: ")[2].partition(" ")[0] for note in nearest] == ["S-TG", "S-DA"]
    assert nearest[0].endswith("S-TG 28.0, S-TG, sign as printed 60.3.")
    assert "burstiness 1, with which S-TG is nearest" in drawn.notes[0]
    assert "With 1 TF-IDF, which learns nothing, is nearest" in drawn.notes[0]
    # bars are over burstiness
    assert frame.loc[("soml-da", 10_000, "sparsity"), ["low", "high"]].tolist() == pytest.approx([72, 78])
    took = frame.loc[("soml-tg", 100_000, "train_time")]
    assert took["value"] == pytest.approx(1.0)
    assert frame.loc[("soml-tg, printed", 1_000_000, "train_time"), "value"] == pytest.approx(1.44, abs=0.01)


def test_photographs_tell_plainly_whether_learning_helps():
    table = apart_exhibits.on_photographs(study(tables()))
    frame = table.frame.set_index("method")
    assert frame.loc["soml-da", "gap"] == pytest.approx(-9.5)
    assert frame.loc["soml-da", "gap_cell"].startswith("−9.5 points [")
    assert "An image has 46 of 1,000 words, one of Table 1 2000 of 10,000." in table.notes[0]
    assert table.notes[1] == "Above TF-IDF beyond its interval: no method that learns."
    better = photographs({"tfidf": 0, "oasis-diagonal": 0, "soml-da": 0.1})
    table = apart_exhibits.on_photographs(study(tables(photographs=better)))
    assert table.notes[1] == "Above TF-IDF beyond its interval: S-DA."


def test_each_class_of_photographs_is_learned_without_its_queries_or_the_pool(tmp_path):
    random = np.random.default_rng(0)
    labels = np.repeat(["cat", "dog", "elk"], 20)
    topics = random.dirichlet(np.full(50, 0.2), 3)
    counts = sp.csr_array(np.stack([random.multinomial(40, topics[i // 20]) for i in range(60)]).astype(np.int32))
    names = {"path": [f"{i}.jpg" for i in range(60)], "label": labels, "sha256": "", "status": "ok", "reason": ""}
    manifest = pd.DataFrame(names).assign(width=9, height=9, bytes=9)
    in_pool = np.arange(60) % 20 == 0
    write_visterm_folder(tmp_path, manifest, in_pool, counts)
    settings = Photographs(data="x", words=50, methods=list(SPECS), learning=FEW.model_copy(update={"draws": 1}))
    numbers = learn_photographs(tmp_path, settings, SPECS, seed=2)
    of_map = select(numbers, metric="map")
    assert of_map.groupby("method").size().to_dict() == dict.fromkeys(SPECS, 3)
    assert (of_map["value"] > 0.4).all(), "classes of different words find themselves"
    queries, relevance = class_queries(manifest.assign(image_id=range(60))[~in_pool], 5, 2)
    assert queries.groupby("landmark").size().tolist() == [5, 5, 5]
    assert len(relevance) == 3 * 5 * 19
    assert not set(relevance["image_id"]) & set(np.flatnonzero(in_pool))


def test_a_data_set_of_bags_alone_has_the_exhibits_of_readings():
    config = own_settings()
    alone = checked(config).landmark["soml_readings"]
    assert check_plan(alone) == {"landmark/diagram", "landmark/fingerprint"}
    assert (alone.batches(), alone.named_landmarks()) == ([], [])
    own = {"study": {"readings": SECTION["readings"]}, "landmarks": []}
    own["shared"] = given(kind="simulated_bags").params("exhibits")["shared"]
    alone = with_tables(study_of("landmark", "made", own).finished({}, PRINTED), **readings())
    alone = contrasted("landmark", alone)
    assert apart_exhibits.order_of_methods(alone).panels
    assert alone.size == "5,062 simulated images, 3 landmarks, in 4 kinds"
    said = " ".join(headline(alone).split())
    assert "mAP (%), burstiness 4" in said
    assert f"In 8 cells of codebook, burstiness and gamma, by 95% intervals: {readings_said.IN_ORDER}: 2;" in said
    for changes, reason in (
        ({"methods": ["soml-da"]}, "takes `readings` and neither"),
        ({"readings": {"methods": ["tfidf", "soml-tg"], "words": [100], "burstiness": [1]}}, "readings.varied names"),
    ):
        wrong = own_settings()
        wrong["landmark"]["soml_readings"] |= changes
        with pytest.raises(LookalikeError, match=reason):
            checked(wrong)
