"""Verdicts on the claims of the landmark study's paper, from numbers whose truth is known."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from landmark_numbers import CLAIMS, LANDMARKS, METHODS, made_dimensions, made_fits, made_metrics, missing, oxford

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.exhibits import landmark_claims, landmark_evidence
from lookalike.exhibits.landmark_claims import CLAIM_COLUMNS, OF_ALL, OF_CODEBOOK, claims_table, notes_on_claims

HOLDS, FAILS, OPEN = "holds", "does not hold", "not decidable here"
ONE = {"representations": {"sift-10k": {"words": 10_000}}}


@pytest.fixture(scope="module")
def claims():
    return read_table(CLAIMS)


def study(maps, sparsity=None, draws=3, landmarks=LANDMARKS):
    """Metrics of one codebook: ``maps`` gives each method's gain over 0.3, a number or one a landmark."""
    rows = []
    for method, gain in maps.items():
        for place, landmark in enumerate(landmarks):
            for draw in range(draws):
                key = ("oxford5k", "sift-10k", landmark, method, draw)
                own = gain[place] if np.ndim(gain) else gain
                rows.append((*key, "map", 0.3 + own + 0.002 * draw + 0.001 * place * (method != "tfidf")))
                if sparsity and method in sparsity:
                    rows.append((*key, "sparsity", sparsity[method] + 0.001 * place))
    columns = ["dataset", "representation", "subset", "method", "fold", "metric", "value"]
    return pd.DataFrame(rows, columns=columns)


def verdict(rule, metrics, context, fits=None, dimensions=None):
    claim = pd.DataFrame([{"id": "a", "place": "Table 1", "claim": "something", "rule": rule}])
    table = claims_table(claim, metrics, fits, dimensions, context)
    assert len(table.frame) == (len(context.codebooks) if rule in OF_CODEBOOK else 1)
    return table.frame.iloc[0]


def test_every_claim_has_a_rule_that_says_what_it_does(claims):
    assert list(claims.columns) == list(CLAIM_COLUMNS)
    assert claims["id"].is_unique
    assert set(claims["rule"]) == set(OF_CODEBOOK) | set(OF_ALL)
    for rule in claims["rule"]:
        sentence = landmark_claims.sentence_of(rule)
        assert sentence.startswith("Holds where")
        assert "fails where" in sentence
        assert len(inspect.getdoc(getattr(landmark_claims, rule)).splitlines()) == 1


BEATS = {"tfidf": 0.0, "qpao": 0.1, "oasis-diagonal": 0.05, "soml-tg": 0.08, "soml-da": 0.1}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, HOLDS),
        ({"soml-tg": -0.05}, FAILS),
        ({"soml-tg": np.array([0.3, -0.28, 0.25, -0.3, 0.2, -0.2, 0.05])}, OPEN),
    ],
)
def test_learning_beats_tfidf_only_if_every_method_does(change, expected):
    found = verdict("learning_beats_tfidf", study(BEATS | change), oxford(**ONE))
    assert found["verdict"] == expected
    assert "QPAO (reconstructed) minus TF-IDF" in found["evidence"]
    assert "of 7 above 0" in found["evidence"]


def test_one_method_of_four_must_fall_clearly_to_refute_a_claim():
    """A p-value of 0.03 refutes a claim about one pair, and not one about four."""
    # t = -2.8 over seven landmarks, once the step of 0.001 a landmark that `study` adds is taken off
    nothing = 0.02 * np.arange(-3, 4) - 0.003
    lower = nothing - 2.8 * 0.8165 * 0.021
    flat = {"tfidf": 0.0, "qpao": nothing, "oasis-diagonal": nothing, "soml-tg": lower, "soml-da": nothing}
    assert verdict("learning_beats_tfidf", study(flat), oxford(**ONE))["verdict"] == OPEN
    alone = {name: title for name, title in METHODS.items() if name in ("tfidf", "soml-tg")}
    assert verdict("learning_beats_tfidf", study(flat), oxford(methods=alone, **ONE))["verdict"] == FAILS


def test_both_intervals_are_of_landmarks():
    table = pd.DataFrame([(place, draw, 1.0 + place % 3 + draw) for place in range(6) for draw in range(4)])
    table.columns = ["landmark", "draw", "value"]
    numbers = landmark_evidence.Study(table, None, oxford(**ONE))
    found = landmark_evidence.difference(numbers, table, table.assign(value=0.0), "a", "map")
    assert np.allclose(found.of_landmarks, [2.5, 3.5, 4.5, 2.5, 3.5, 4.5])
    (t_low, t_high), (low, high) = found.intervals
    reach = 2.5705818366 * np.std(found.of_landmarks, ddof=1) / np.sqrt(6)
    assert (t_low, t_high) == (pytest.approx(3.5 - reach), pytest.approx(3.5 + reach))
    assert t_low < low < 3.5 < high < t_high


def test_draws_of_a_landmark_are_no_further_evidence():
    """Differences that only one landmark in seven shows stay undecided however often each is drawn."""
    gain = np.array([0.4, 0, 0, 0, 0, 0, 0.01])
    few, many = (study({"tfidf": 0.0, "qpao": gain, "oasis-diagonal": 0.0}, draws=n) for n in (2, 60))
    for metrics in (few, many):
        assert verdict("qpao_above_oasis", metrics, oxford(**ONE))["verdict"] == OPEN


def test_one_landmark_decides_nothing():
    metrics = study(BEATS, landmarks=LANDMARKS[:1])
    found = verdict("qpao_above_oasis", metrics, oxford(landmarks=list(LANDMARKS[:1]), **ONE))
    assert found["verdict"] == OPEN
    assert "(one landmark)" in found["evidence"]


@pytest.mark.parametrize(("gain", "expected"), [(0.048, HOLDS), (0.055, HOLDS), (0.02, FAILS)])
def test_at_least_as_good_allows_for_a_point(gain, expected):
    metrics = study(BEATS | {"soml-tg": gain})
    assert verdict("soml_not_below_oasis", metrics, oxford(**ONE))["verdict"] == expected


@pytest.mark.parametrize(("gain", "expected"), [(0.048, FAILS), (0.055, HOLDS), (0.02, FAILS)])
def test_better_is_above_and_not_only_at_least_as_good(gain, expected):
    metrics = study(BEATS | {"soml-tg": gain})
    assert verdict("soml_above_oasis", metrics, oxford(**ONE))["verdict"] == expected


@pytest.mark.parametrize(("gain", "expected"), [(0.10, HOLDS), (0.03, HOLDS), (-0.01, FAILS), (0.2, HOLDS)])
def test_near_qpao_is_within_five_points_or_above(gain, expected):
    metrics = study(BEATS | {"soml-tg": max(gain, 0.06), "soml-da": 0.055 if gain == 0.03 else gain})
    assert verdict("soml_near_qpao", metrics, oxford(**ONE))["verdict"] == expected


@pytest.mark.parametrize(("gain", "expected"), [(0.09, HOLDS), (0.07, FAILS), (0.2, FAILS)])
def test_slightly_better_is_neither_worse_nor_much_better(gain, expected):
    assert verdict("da_slightly_above_tg", study(BEATS | {"soml-da": gain}), oxford(**ONE))["verdict"] == expected


@pytest.mark.parametrize(("zero", "expected"), [(0.8, HOLDS), (0.2, FAILS)])
def test_sparser_is_about_weights(zero, expected):
    metrics = study(BEATS, {"soml-tg": 0.5, "soml-da": zero})
    assert verdict("da_sparser_than_tg", metrics, oxford(**ONE))["verdict"] == expected


@pytest.mark.parametrize(("zero", "expected"), [(0.0, FAILS), (None, OPEN)])
def test_oasis_is_dense_where_it_rounds_to_nothing(zero, expected):
    # the made sparsity grows by a tenth of a percent a landmark, so 0 on the first is not 0 on all
    metrics = study(BEATS, {"oasis-diagonal": zero} if zero is not None else {"soml-tg": 0.5})
    assert verdict("oasis_is_dense", metrics, oxford(**ONE))["verdict"] == expected
    assert verdict("oasis_is_dense", made_metrics(), oxford(**ONE))["verdict"] == HOLDS


def test_sparsity_must_grow_at_every_step_to_a_larger_codebook():
    metrics = made_metrics()
    assert verdict("sparsity_grows_with_codebook", metrics, oxford())["verdict"] == HOLDS
    falls = (metrics["representation"] == "sift-1m") & (metrics["metric"] == "sparsity")
    falls &= metrics["method"] == "soml-tg"
    metrics.loc[falls, "value"] *= 0.5
    assert verdict("sparsity_grows_with_codebook", metrics, oxford())["verdict"] == FAILS
    assert verdict("sparsity_grows_with_codebook", metrics, oxford(**ONE))["verdict"] == OPEN


def test_qpao_is_the_slowest_also_where_it_did_not_end():
    metrics, fits = made_metrics(), made_fits()
    found = verdict("qpao_is_slowest", metrics, oxford(fits), fits)
    assert found["verdict"] == HOLDS
    assert "QPAO (reconstructed) over OASIS 7" in found["evidence"]
    quick = fits.assign(cpu_seconds_fit=fits["cpu_seconds_fit"].where(fits["method"] != "qpao", 0.001))
    assert verdict("qpao_is_slowest", metrics, oxford(quick), quick)["verdict"] == FAILS
    limited = fits.copy()
    limited.loc[fits["method"] == "qpao", "not_converged"] = "the fit took more than 600 s"
    context = oxford(limited)
    assert verdict("qpao_is_slowest", metrics, context, limited)["verdict"] == HOLDS
    # what is left of it would be the easier landmarks
    found = verdict("qpao_above_oasis", metrics, context, limited)
    assert (found["verdict"], found["evidence"]) == (OPEN, "QPAO (reconstructed) did not end within its time limit")
    assert verdict("learning_beats_tfidf", metrics, context, limited)["verdict"] == HOLDS


def test_times_over_d_come_from_simulated_rows_else_from_the_fits():
    metrics, fits, dimensions = made_metrics(), made_fits(), made_dimensions()
    context = oxford(fits)
    for rule in ("soml_time_does_not_grow", "oasis_time_grows"):
        found = verdict(rule, metrics, context, fits, dimensions)
        assert (found["verdict"], "(simulated rows)" in found["evidence"]) == (HOLDS, True)
        found = verdict(rule, metrics, context, fits)
        assert (found["verdict"], "(this study's fits)" in found["evidence"]) == (HOLDS, True)
    slower = dimensions.copy()
    slower.loc[(dimensions["learner"] == "soml-da") & (dimensions["n_features"] == 1_000_000), "cpu_seconds"] = 9.0
    assert verdict("soml_time_does_not_grow", metrics, context, fits, slower)["verdict"] == FAILS
    named = dimensions.assign(learner=dimensions["learner"].replace({"oasis-diagonal": "DiagonalOASIS"}))
    assert verdict("oasis_time_grows", metrics, context, fits, named)["verdict"] == HOLDS


@pytest.mark.parametrize(
    ("at_limit", "ended", "expected"),
    [(600.0, 60.0, HOLDS), (0.001, 60.0, OPEN), (600.0, 0.001, OPEN)],
)
def test_one_fit_at_its_limit_does_not_make_qpao_the_slowest(at_limit, ended, expected):
    metrics, fits = made_metrics(), made_fits()
    qpao = fits["method"] == "qpao"
    fits.loc[qpao, "cpu_seconds_fit"] = ended
    one = qpao & (fits["subset"] == "bodleian") & (fits["fold"] == 2)
    fits.loc[one, ["not_converged", "cpu_seconds_fit"]] = ["the fit took more than its limit", at_limit]
    found = verdict("qpao_is_slowest", metrics, oxford(fits, **ONE), fits)
    assert found["verdict"] == expected
    assert "the fit took more than its limit (1 of 5 draws)" in found["evidence"]


def test_growth_is_of_sizes_whose_rows_are_alike_and_of_cpu_time():
    metrics, fits, dimensions = made_metrics(), made_fits(), made_dimensions()
    context = oxford(fits)
    small = dimensions[dimensions["n_features"] == 10_000].assign(n_features=1000, nonzeros=500.0)
    small["cpu_seconds"] /= 10
    found = verdict("soml_time_does_not_grow", metrics, context, fits, pd.concat([small, dimensions]))
    assert found["verdict"] == HOLDS
    assert "from 10,000 to 1,000,000 words, of about 2,000 non-zeros" in found["evidence"]
    unlike = dimensions.assign(nonzeros=dimensions["n_features"] / 50)
    found = verdict("soml_time_does_not_grow", metrics, context, fits, unlike)
    assert (found["verdict"], found["on_average"]) == (OPEN, "")
    assert "200 at 10,000, 2,000 at 100,000" in found["evidence"]
    unknown = verdict("soml_time_does_not_grow", metrics, context, fits, dimensions.drop(columns="nonzeros"))
    assert (unknown["verdict"], unknown["on_average"]) == (OPEN, "as claimed on average")
    busy = dimensions.assign(seconds=dimensions["seconds"] * (1 + dimensions["n_features"] / 1000))
    assert verdict("soml_time_does_not_grow", metrics, context, fits, busy)["verdict"] == HOLDS


@pytest.mark.parametrize("rule", ["soml_time_does_not_grow", "oasis_time_grows"])
def test_repeats_that_straddle_the_bound_decide_nothing(rule):
    dimensions, fits = made_dimensions(), made_fits()
    spread = {10_000: (1.0, 1.2, 1.1), 1_000_000: (1.1, 1.4, 1.5)}
    rows = dimensions[dimensions["n_features"].isin(spread)].copy()
    rows["cpu_seconds"] = [
        spread[size][repeat] for size, repeat in zip(rows["n_features"], rows["repeat"], strict=True)
    ]
    found = verdict(rule, made_metrics(), oxford(fits), fits, rows)
    assert found["verdict"] == OPEN
    assert "1.3x [0.92x, 1.5x] from 10,000 to 1,000,000 words" in found["evidence"]
    alone = verdict(rule, made_metrics(), oxford(fits), fits, dimensions[dimensions["repeat"] == 0])
    assert (alone["verdict"], "one repeat" in alone["evidence"]) == (OPEN, True)


def test_our_oasis_is_said_to_avoid_the_work_that_the_claims_are_about():
    fits = made_fits()
    for rule in ("oasis_is_dense", "oasis_time_grows"):
        assert (
            "does no work of O(d)" in verdict(rule, made_metrics(), oxford(fits), fits, made_dimensions())["evidence"]
        )


def test_means_stand_beside_verdicts():
    gains = np.array([0.3, -0.28, 0.25, -0.3, 0.2, -0.2, 0.05])
    found = verdict("learning_beats_tfidf", study(BEATS | {"soml-tg": gains}), oxford(**ONE))
    assert found["verdict"] == OPEN
    assert found["on_average"].startswith("as claimed on most landmarks (QPAO (reconstructed) 7 of 7")
    assert "S-TG 4 of 7" in found["on_average"]
    lower = verdict("soml_above_oasis", study(BEATS | {"soml-tg": 0.04}), oxford(**ONE))
    assert lower["on_average"] == "not on average (S-TG minus OASIS)"
    # a claim about two methods, of which one is not there, is not met on average, and may yet be refuted
    alone = {name: gain for name, gain in BEATS.items() if name != "soml-da"}
    assert verdict("soml_above_oasis", study(alone), oxford(**ONE))["on_average"] == ""
    assert verdict("soml_above_oasis", study(alone | {"soml-tg": 0.0}), oxford(**ONE))["on_average"] != ""


def test_the_printed_numbers_go_through_the_same_rules(claims, reference):
    fits = made_fits()
    table = claims_table(claims, made_metrics(), fits, made_dimensions(), oxford(fits), reference)
    frame = table.frame.set_index(["id", "representation"])
    printed = reference[(reference["exhibit"] == "table1") & reference["setting"].str.endswith("=mean")]
    means = printed.set_index("method")["value"]
    row = frame.loc[("qpao-above-oasis", "sift-10k")]
    assert f"QPAO minus OASIS {means['qpao'] - means['oasis']:+.1f} [" in row["printed_evidence"]
    assert row["printed_on_average"] == "as claimed on average"
    # in print S-DA's mean is below S-TG's at 10,000 words, and above it in the larger codebooks
    told = [frame.loc[("da-above-tg", name), "printed_on_average"] for name in ("sift-10k", "sift-100k", "sift-1m")]
    assert told == ["not on average (S-DA minus S-TG)", *["as claimed on average"] * 2]
    assert frame.loc[("oasis-grows", ""), "printed_on_average"] == "as claimed on average"
    assert "of ours" not in " ".join(frame["printed_evidence"])
    of_map = frame[frame["rule"].isin(landmark_claims.OF_MAP)]
    assert len(of_map) == 18
    undecided = (of_map["printed_verdict"] == OPEN).sum()
    assert f"undecided in {undecided} of 18 cases" in notes_on_claims(oxford(fits), table)
    nothing = claims_table(claims, None, None, None, missing(), reference).frame
    assert list(nothing["printed_on_average"]) == list(table.frame["printed_on_average"])


def test_the_columns_of_the_latex_table_fill_the_line_and_no_more(claims):
    latex = claims_table(claims, None, None, None, missing()).latex
    assert sum(landmark_claims.WIDTHS) == pytest.approx(1)
    assert len(landmark_claims.WIDTHS) == len(landmark_claims.HEADER) == latex.count(r"\linewidth-2\tabcolsep")
    assert latex.count("{") - latex.count(r"\{") == latex.count("}") - latex.count(r"\}")


def test_the_table_has_a_row_a_codebook_and_the_caption_counts_them(claims):
    metrics, fits = made_metrics(), made_fits()
    context = oxford(fits)
    table = claims_table(claims, metrics, fits, made_dimensions(), context)
    assert len(table.frame) == 3 * len(OF_CODEBOOK) + len(OF_ALL)
    counts = table.frame["verdict"].value_counts()
    told = notes_on_claims(context, table)
    assert f"Of 33 verdicts, holds: {counts[HOLDS]}, does not hold: {counts.get(FAILS, 0)}" in told
    again = claims_table(claims, metrics.sample(frac=1, random_state=0), fits, made_dimensions(), context)
    pd.testing.assert_frame_equal(table.frame, again.frame)
    assert r"\begin{longtable}" in table.latex


def test_where_nothing_was_run_no_claim_has_a_verdict(claims):
    table = claims_table(claims, None, None, None, missing())
    assert set(table.frame["verdict"]) == {"not run"}
    assert notes_on_claims(missing(), table) == ""


def test_a_broken_file_of_claims_is_told(claims):
    with pytest.raises(LookalikeError, match=r"lack the columns rule: restore landmark-claims\.csv"):
        claims_table(claims.drop(columns="rule"), None, None, None, missing())
    with pytest.raises(LookalikeError, match="no rule decides nonsense"):
        claims_table(claims.assign(rule="nonsense"), None, None, None, missing())
