"""Numbers of running text: what is gathered, and what may be held against print."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lookalike.exhibits.facts import study_facts, subset_of_text
from lookalike.exhibits.text_numbers import compare_text, text_numbers


@pytest.fixture
def manifest():
    rows = [("ok", "a"), ("ok", "a"), ("ok", "b"), ("too_small", "b"), ("too_small", "c"), ("clutter", "clutter")]
    return pd.DataFrame(rows, columns=["status", "label"])


@pytest.fixture
def fits():
    rows = [
        (subset, representation, method, fold, words, nonzeros + fold, 0.9 + fold / 100 if method == "oasis" else None)
        for subset, extra in (("var10", 0), ("classes50", 5))
        for representation, words, nonzeros in (("words1000", 1000, 50 + extra), ("words500", 500, 30 + extra))
        for method in ("euclidean", "oasis")
        for fold in range(2)
    ]
    columns = ["subset", "representation", "method", "fold", "n_words", "nonzeros_per_image_train", "symmetry_index"]
    return pd.DataFrame(rows, columns=columns)


def by_metric(facts):
    return {row.metric: row for row in facts.itertuples()}


def test_facts_of_images_and_of_the_own_representation(manifest, fits, context):
    facts = by_metric(study_facts(manifest, fits, context))
    assert facts["images_kept"].value == 3
    assert facts["categories_kept"].value == 2
    assert math.isnan(facts["images_kept"].std)
    # the mean of the folds 50 and 51, each counted once whatever the number of methods
    assert (facts["nonzeros_per_image"].value, facts["nonzeros_per_image"].words) == (50.5, 1000)
    assert facts["nonzeros_per_image"].std == pytest.approx(np.std([50, 51], ddof=1))
    assert facts["symmetry_index"].value == pytest.approx(0.905)


def test_non_zeros_are_those_of_the_papers_codebook_where_it_was_run(manifest, fits, context):
    large = fits[fits["representation"] == "words500"].assign(representation="words10000", n_words=10_000)
    facts = by_metric(study_facts(manifest, pd.concat([fits, large]), context))
    assert (facts["nonzeros_per_image"].value, facts["nonzeros_per_image"].words) == (30.5, 10_000)
    assert facts["symmetry_index"].value == pytest.approx(0.905)


def test_fits_are_of_the_first_subset_that_the_paper_prints(manifest, fits, context):
    draft_only = replace(context.subsets[0], printed={"oasis-2009-draft": "var10"})
    mixed = replace(context, subsets=(draft_only, context.subsets[1]))
    assert subset_of_text(mixed).id == "classes50"
    assert by_metric(study_facts(manifest, fits, mixed))["nonzeros_per_image"].value == 55.5
    assert subset_of_text(replace(context, subsets=(draft_only,))) is draft_only
    short = replace(context.subsets[0], why_not_comparable="9 of the paper's 10 classes")
    assert subset_of_text(replace(context, subsets=(short, context.subsets[1]))) is short


def test_a_study_without_a_bilinear_model_has_no_symmetry(manifest, fits, context):
    for table in (fits[fits["method"] == "euclidean"], fits.drop(columns="symmetry_index")):
        assert "symmetry_index" not in by_metric(study_facts(manifest, table, context))
    assert set(by_metric(study_facts(manifest, None, context))) == {"images_kept", "categories_kept"}


def test_statuses_on_the_papers_images(facts, context, reference):
    table = compare_text(facts, context, reference).set_index("metric")
    assert table["printed"].to_dict() == {
        "images_kept": 29_461,
        "categories_kept": 256,
        "nonzeros_per_image": 70,
        "symmetry_index": 0.94,
    }
    assert table["status"].to_dict() == {
        "images_kept": "lower",
        "categories_kept": "agrees",
        "nonzeros_per_image": "not comparable",
        "symmetry_index": "agrees",
    }
    assert table.loc["nonzeros_per_image", "reason"] == "1,000 words here, 10,000 in the paper"
    assert table.loc["symmetry_index", "subset"] == "var10"
    large = compare_text(facts.assign(words=10_000), context, reference).set_index("metric")
    assert large.loc["nonzeros_per_image", "status"] == "lower"


def test_other_images_are_not_comparable(facts, context, synthetic, reference):
    own = replace(context, kind="folder", subsets=(replace(context.subsets[0], why_not_comparable="other classes"),))
    reasons = compare_text(facts, own, reference).set_index("metric")["reason"]
    assert reasons["images_kept"] == "other images than the paper's"
    assert reasons["symmetry_index"] == "other classes"
    draft_only = replace(context, subsets=(replace(context.subsets[0], printed={"oasis-2009-draft": "var10"}),))
    reasons = compare_text(facts, draft_only, reference).set_index("metric")["reason"]
    assert reasons["symmetry_index"] == "other classes than the paper's"
    made = compare_text(facts, synthetic, reference)
    assert set(made["status"]) == {"not comparable"}
    assert set(made["reason"]) == {"synthetic images"}


def test_the_table_has_dashes_where_nothing_is_known(facts, context, missing, reference):
    lines = text_numbers(facts, context, reference).markdown.splitlines()
    assert [text.strip() for text in lines[2].strip("|").split("|")][1:] == ["29,460", "29,461", "lower"]
    assert "0.943 ± 0.004" in lines[5]
    assert "Mean non-zeros per image (1,000 words)" in lines[4]
    assert "not comparable: 1,000 words here, 10,000 in the paper" in lines[4]
    nothing = text_numbers(None, context, reference)
    assert set(nothing.frame["ours_cell"]) == {"-"}
    assert set(nothing.frame["status"]) == {"no result"}
    absent = text_numbers(facts, missing, reference)
    assert set(absent.frame["ours_cell"]) == {"not run"}
    assert absent.frame["ours"].isna().all()
