"""Exhibits of the web study on a small hand-made one: what is shown is what was given, beside what is printed."""

import math

import made_web
import numpy as np
import pandas as pd
import pytest
from contract import check_exhibits, check_not_run, check_plan
from made_web import (
    COUNTS,
    EXPONENT,
    FACTOR,
    SECTION,
    toy_runtime,
    toy_study,
    web_study,
)
from scipy.stats import linregress, t

from lookalike.exhibits.headline import headline
from lookalike.studies.web import runtime_figure

PRINTED = [
    "oasis-jmlr-2010/table1",
    "oasis-2009-draft/table3",
    "oasis-jmlr-2010/fig3a",
    "oasis-2009-draft/fig6",
    "oasis-jmlr-2010/fig4",
    "oasis-nips-2009/fig1b",
]


def drawn(folder, exhibit, **changed):
    study = toy_study(folder, exhibit, **changed)
    return study.exhibit.draw(study)


def test_every_exhibit_is_drawn_and_says_that_it_is_simulated(tmp_path):
    study = toy_study(tmp_path, "oasis-jmlr-2010/table1")
    for words in check_exhibits("web", study, tmp_path / "all", printed=PRINTED).values():
        assert "Data: made web images (query log and images made by code): 2,292,259 training" in words["caption"][1]
        assert "Not comparable with the printed numbers: simulated." in words["notes"]
    nothing = made_web.given().finished({}, not_run="not run: why")
    check_not_run("web", nothing, tmp_path / "not run")
    assert headline(nothing) == "made web images: not run: why\n"


def test_counts_stand_beside_those_of_jmlr(tmp_path):
    for paper in ("oasis-jmlr-2010/table1", "oasis-2009-draft/table3"):
        table = drawn(tmp_path, paper)
        cells = table.frame.set_index(["part", "metric"])
        assert cells.loc[("train", "images"), "ours"] == COUNTS["train"][1]
        assert cells.loc[("test", "queries"), "printed"] == 41_877
        assert set(cells.loc[(slice(None), "nonzeros_per_image"), "printed"]) == {70}
        assert cells["is_printed"].sum() == 6
        assert cells.loc[("train", "images"), "printed_cell"] == "2,292,259"


def test_precision_is_in_percent_with_its_standard_error_chance_and_print(tmp_path):
    figure = drawn(tmp_path, "oasis-jmlr-2010/fig3a")
    frame = figure.frame
    assert list(dict.fromkeys(frame["series"])) == ["oasis", "oasis-averaged", "euclidean", "chance", "oasis, printed"]
    first = frame[frame["series"] == "oasis"].iloc[0]
    numbers = first[["precision", "standard_error", "low", "high", "n_queries", "n_gallery"]]
    assert numbers.tolist() == pytest.approx([1.6, 0.1, 1.5, 1.7, 10_000, 402_164])
    (line,) = figure.panels[0].lines
    assert line.at == pytest.approx(100 * 96.4 / 402_163)
    assert "OASIS, printed" not in str(figure.panels), "of another log, it would seem to be below ours"
    assert any("prints 1.5% at top 1" in note for note in figure.notes)
    cell = figure.cells.iloc[0]
    assert (cell["ours"], cell["printed"]) == (pytest.approx(1.6), 1.5)


def test_the_headline_has_precision_and_the_mean_speed_of_the_rankers(tmp_path):
    said = " ".join(headline(toy_study(tmp_path, "oasis-jmlr-2010/fig3a")).split())
    for words in ("P@1 (%)", "OASIS 1.6 ± 0.1", "over 10,000 test images", "2,000 steps a second on 1 thread"):
        assert words in said


def test_runtime_shows_medians_print_and_the_two_lines_that_continue_ours(tmp_path):
    figure = drawn(tmp_path, "oasis-jmlr-2010/fig4", runtime=toy_runtime())
    frame = figure.frame
    sizes = {
        "OASIS": 5,
        "LMNN": 5,
        "OASIS: power law": 2,
        "LMNN, extrapolated": 20,
        "OASIS, printed": 5,
        "LMNN, printed": 2,
        "OASIS, printed (JMLR)": 1,
    }
    assert frame.groupby("series").size().to_dict() == sizes
    ours = frame[(frame["series"] == "LMNN") & (frame["n_images"] == 2000)].iloc[0]
    base = 0.02 + 0.2 + 0.08
    assert (ours["low"], ours["seconds"], ours["high"]) == pytest.approx((base, 1.04 * base, 1.1 * base))
    printed = frame[frame["series"] == "OASIS, printed"].set_index("n_images")["seconds"]
    assert (printed[60], printed[2_300_000]) == (pytest.approx(9), 2 * 86_400)
    jmlr = frame[frame["series"] == "OASIS, printed (JMLR)"].iloc[0]
    assert (jmlr["n_images"], jmlr["seconds"]) == (2_292_259, 4000 * 60)
    last = frame[frame["series"] == "LMNN, extrapolated"].iloc[-1]
    expected = 1.04 * (0.02 + 20 + 2e-8 * 2e5**2)
    assert (last["n_images"], last["seconds"]) == (200_000, pytest.approx(expected)), "ten times what was measured"
    notes = " ".join(figure.notes)
    assert f"images^{EXPONENT:.2f} ± 0.00 (least squares in logarithms over 5 sizes" in notes
    assert "printed times of OASIS grow as images^0.95 ±" in notes
    assert "at 4 sizes from 100 rows on, drawn on to 10 times as many rows" in notes
    assert "Arrows" not in notes
    # the legend says so too
    assert "LMNN, extrapolated 10-fold" in [series.name for series in figure.panels[0].series]


def test_a_power_law_has_the_interval_of_a_slope_and_no_extrapolation_falls():
    sizes = np.array([60, 600, 10_000, 100_000, 2_300_000])
    seconds = 3e-4 * sizes**0.9 * np.exp([0.2, -0.1, 0.3, -0.2, 0.05])
    table = pd.DataFrame({"n_images": sizes, "seconds": seconds, "cut_off": False})
    law, line = runtime_figure.power_law(table), linregress(np.log(sizes), np.log(seconds))
    assert (law.exponent, law.half_width) == pytest.approx((line.slope, t.ppf(0.975, 3) * line.stderr))
    assert runtime_figure.power_law(table.iloc[:2]) is None, "a line goes through any two points"
    for seed in range(5):
        falling = table.assign(seconds=np.random.default_rng(seed).uniform(0.01, 1e4, 5))
        assert (runtime_figure.second_degree(falling) >= 0).all()


def test_the_studys_own_run_is_a_series_that_no_line_goes_through(tmp_path):
    table = toy_runtime(100_001)
    own = table.iloc[[0, 0]].assign(
        n_images=2_292_259, cpu_seconds=[7.0, 8.0], own_run=True, stopped="limit", lower_bound=True, n_threads=8
    )
    figure = drawn(tmp_path, "oasis-jmlr-2010/fig4", runtime=pd.concat([table, own], ignore_index=True))
    visible = figure.frame[figure.frame["source"] == "own run"].iloc[0]
    assert (visible["series"], visible["seconds"], visible["n_repeats"]) == ("OASIS, the study's own run", 7.5, 2)
    assert "↑" in [label.text for label in figure.panels[0].labels]
    for words in (f"^{EXPONENT:.2f} ± 0.00", "over all threads (1 and 8) on a processor."):
        assert words in " ".join(figure.notes)
    cell = figure.cells.iloc[0]
    assert (cell["ours"], cell["unit"]) == (pytest.approx(7.5 / 60), "minutes")
    assert cell["remark"].startswith("the study's own run; stopped: limit")


def test_runs_that_learned_nothing_or_were_cut_off_decide_no_line(tmp_path):
    table = toy_runtime()
    table.loc[table["n_images"] == 600, ["steps", "cpu_seconds"]] = 0
    largest = table["n_images"] == 2_292_259
    table.loc[largest, ["stopped", "cpu_seconds"]] = "limit", 1.0
    late = (table["learner"] == "LMNN") & (table["n_images"] == 20_000) & (table["repeat"] == 1)
    table.loc[late, ["stopped", "lower_bound"]] = "time limit", True
    figure = drawn(tmp_path, "oasis-jmlr-2010/fig4", runtime=table)
    measured = figure.frame[figure.frame["source"] == "measured"]
    assert 600 not in set(measured["n_images"])
    notes = " ".join(figure.notes)
    assert "no step beat the start on validation images: OASIS at 600 images, LMNN at 600 rows." in notes
    assert f"^{EXPONENT:.2f} ± 0.00 (least squares in logarithms over 3 sizes" in notes
    assert "Dashed" not in notes
    assert "LMNN at 20,000 rows (converged, time limit)" in notes
    assert measured.loc[measured["lower_bound"].astype(bool), "n_images"].tolist() == [20_000]


def test_every_printed_time_stands_beside_ours_of_about_that_size(tmp_path):
    cells = drawn(tmp_path, "oasis-nips-2009/fig1b", runtime=toy_runtime()).cells.set_index(["method", "n_images"])
    assert cells["ours"].isna().tolist() == [*[False] * 6, True], "LMNN is continued only so far"
    assert cells.loc[("oasis", 2_300_000), "printed"] == 2880
    assert cells.loc[("oasis", 2_300_000), "ours"] == pytest.approx(FACTOR * 2_292_259**EXPONENT / 60)
    assert cells.loc[("fast-lmnn", 60_000), "remark"] == "extrapolated"
    small = drawn(tmp_path, "oasis-nips-2009/fig1b", runtime=toy_runtime(largest=50_000)).cells
    assert math.isnan(small.set_index(["method", "n_images"]).loc[("oasis", 2_300_000), "ours"])


def test_every_ranker_size_and_shard_is_planned_one_by_one_or_in_one_job():
    study, together = web_study(), web_study(batch="subset")
    assert study.of_rankers("W.npy") == [f"results/made/rankers/{n}/W.npy" for n in (0, 1)]
    assert study.visterm_folders() == [f"results/made/visterms/shard-{n}" for n in ("000", "001")]
    runs = [f"results/made/runtime/{name}.parquet" for name in ("oasis-60", "oasis-600", "lmnn-100")]
    assert study.timed_runs() == runs
    assert study.runtime_batch().files == ["results/{dataset}/runtime/{learner}-{size}.parquet"]
    assert [file.format(dataset="made") for file in together.runtime_batch().files] == runs
    assert web_study("runtime").timed_runs() == []
    one_by_one, files = study.ranker_batch(), together.ranker_batch().files
    assert one_by_one.files[0] == "results/{dataset}/rankers/{ranker}/W.npy"
    assert one_by_one.allowed["ranker"] == [file.split("/")[3] for file in files[::3]] == ["0", "1"]


def test_jobs_read_only_what_decides_their_results():
    study, others = web_study(), web_study(rankers=5, batch="subset", runtime={**SECTION["runtime"], "images": [99]})
    for job, names in (("train_on_log", {"ranker": "0"}), ("time_size", {"learner": "oasis", "size": "60"})):
        assert study.params(job, dataset="made", **names) == others.params(job, dataset="made", **names)
    training, fits = study.params("train_on_log"), study.params("time_size")
    assert training["rankers"] == ["0", "1"]
    assert not {"threads", "rankers", "checkpoint_seconds"} & set(training["learning"])
    assert training["learning"]["triplets_per_query"] == 32
    assert study.params("time_size", learner="lmnn") == {"seed": 2010, "lmnn": {"max_iter": 5, "time_limit": 7}}
    assert (fits["held_out"], fits["oasis"]["patience"]) == ({"images": 50, "queries": 10}, 3)
    assert study.params("exhibits") == web_study(training={**SECTION["training"], "threads": 4}).params("exhibits")


def test_exhibits_follow_the_settings():
    every = check_plan(web_study())
    assert len(every) == 6
    for study, gone in ((web_study("runtime"), {"oasis-jmlr-2010/fig4", "oasis-nips-2009/fig1b"}),):
        assert every - check_plan(study) == gone
    assert web_study().methods == ["oasis", "oasis-averaged", "euclidean"]
    assert web_study(rankers=1).methods == ["oasis", "euclidean"]
