"""Exhibits of the web study on a small hand-made one: what is shown is what was given, beside what is printed."""

import numpy as np
import pandas as pd
import pytest
from contract import changed_study
from contract import drawn as drawn_of
from made_web import EXPONENT, given, study, toy_times
from plotted import named, ruled

from lookalike.exhibits.results import select
from lookalike.studies.web import exhibits


def drawn(id, times=()):
    return drawn_of(study(times), id)[0]


def test_precision_is_in_percent_with_its_standard_error_chance_and_print():
    figure = drawn("oasis-jmlr-2010/fig3a")
    frame = figure.frame
    assert list(dict.fromkeys(frame["method"])) == ["oasis", "oasis-averaged", "euclidean", "chance"]
    first = frame[frame["method"] == "oasis"].iloc[0]
    numbers = first[["precision", "standard_error", "low", "high"]]
    assert numbers.tolist() == pytest.approx([1.6, 0.1, 1.5, 1.7])
    assert figure.notes[0].startswith("Each of 10,000 query images")
    assert "all other 402,163 of them" in figure.notes[0]
    (panel,) = figure.canvas.axes
    assert ruled(panel) == pytest.approx([100 * 96.4 / 402_163])
    assert "printed" not in str(named(panel)), "of another log, it would seem to be below ours"


OWN = "this study's training, ended at a limit"


def times(figure, method, origin):
    """Seconds by number of images."""
    return select(figure.frame, method=method, origin=origin).set_index("n_images")["seconds"].to_dict()


def test_training_times_stand_with_printed_and_lmnn_is_continued_and_never_falls():
    figure = drawn("oasis-jmlr-2010/fig4")
    sizes = {("oasis", "ours"): 5, ("lmnn", "ours"): 5, ("lmnn", "extrapolated"): 20, ("oasis", "printed (NIPS)"): 5}
    sizes |= {("lmnn", "printed (NIPS)"): 2, ("oasis", "printed (JMLR)"): 1, ("oasis", OWN): 1}
    assert figure.frame.groupby(["method", "origin"]).size().to_dict() == sizes
    assert times(figure, "lmnn", "ours")[2000] == pytest.approx(0.02 + 0.2 + 0.08)
    printed = times(figure, "oasis", "printed (NIPS)")
    assert (printed[60], printed[2_300_000]) == (pytest.approx(9), 2 * 86_400)
    assert times(figure, "oasis", "printed (JMLR)") == {2_292_259: 4000 * 60}
    assert times(figure, "oasis", OWN) == {2_312_259: 1800.0}, "the median of both rankers"
    continued = times(figure, "lmnn", "extrapolated")
    assert continued[200_000] == pytest.approx(0.02 + 20 + 2e-8 * 2e5**2), "ten times what was measured"
    notes = " ".join(figure.notes)
    assert f"images^{EXPONENT:.2f} ± 0.00 (least squares in logarithms over 5 sizes" in notes
    hollow = [line.get_label() for line in figure.canvas.axes[0].lines if line.get_markerfacecolor() == "none"]
    in_print = ["OASIS, printed (NIPS)", "LMNN, printed (NIPS)", "OASIS, printed (JMLR)"]
    assert [name for name in hollow if name[0] != "_"] == in_print
    for seed in range(5):
        random = np.random.default_rng(seed).uniform(0.01, 1e4, 5)
        falling = pd.DataFrame({"n_images": [100, 600, 2000, 6000, 9000], "seconds": random})
        curve = exhibits.projection(falling.assign(method="lmnn", origin="ours"))
        assert (curve.coef >= 0).all()


def test_runs_that_learned_nothing_or_were_cut_off_decide_no_line():
    nothing, limited = [("oasis", 600), ("lmnn", 600)], [("oasis", 2_292_259), ("lmnn", 20_000)]
    figure = drawn("oasis-jmlr-2010/fig4", toy_times(unlearned=nothing, cut_off=limited))
    assert list(times(figure, "oasis", "ours")) == [60, 10_000, 100_000]
    assert list(times(figure, "oasis", "ended at a limit")) == [2_292_259]
    notes = " ".join(figure.notes)
    assert "no step beat the start on validation images: LMNN at 600, OASIS at 600." in notes
    assert f"^{EXPONENT:.2f} ± 0.00 (least squares in logarithms over 3 sizes" in notes
    assert "What ended at a limit" in notes
    assert "Dashed" not in notes


def test_every_ranker_and_size_is_planned_in_a_job_that_reads_only_what_decides_its_results():
    study, together = given(), changed_study("web", "websim", batch="subset", training={"rankers": 2, "threads": 4})
    assert [file.format(dataset="websim") for file in together.runtime_batch().files] == study.timed_runs()
    rankers = [file.split("/")[3] for file in together.ranker_batch().files[::3]]
    assert study.ranker_batch().allowed["ranker"] == rankers == ["0", "1"]
    others = changed_study("web", "websim", training={"rankers": 1}, runtime={"images": [99]})
    for job, names in (("train_on_log", {"ranker": "0"}), ("time_size", {"learner": "oasis", "size": "60"})):
        params = [own.params(job, dataset="websim", **names) for own in (study, together, others)]
        assert params[0] == params[1] == params[2]
    assert not {"threads", "rankers", "checkpoint_seconds"} & set(study.params("train_on_log")["learning"])
    assert [*study.params("time_size", learner="lmnn")["learners"]] == ["lmnn"]
    methods = [own.methods for own in (others, study)]
    assert methods == [["oasis", "euclidean"], ["oasis", "oasis-averaged", "euclidean"]]
