"""Vectors of one's own: every kind of file is the same rows, and every command takes them."""

import json
import os
import re
import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from made_place import COUNTED, IDS, LABELS, TABLE, TRIPLETS, X, Y, array, arrow, csv, frame
from project import ROOT

import lookalike
from lookalike import Similarity
from lookalike.app.choice import choose_learner
from lookalike.app.gallery import export
from lookalike.app.learning import held_out_answers
from lookalike.app.rows import make_rows
from lookalike.app.vectors import read_vectors
from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.learners import MCML, Euclidean

FORMATS = {"v.npy": {"labels": "y.npy"}, "v.npz": {"labels": "numbers.csv"}, "pandas.csv": {"labels": "classes.csv"}}
FORMATS |= {"v.parquet": {}, "fixed.parquet": {}, "wide.parquet": {}}
FORMATS |= {"v.csv": {"id_column": "sku", "label_column": "kind"}}


@pytest.mark.parametrize("name", FORMATS)
def test_every_kind_of_file_holds_the_same_rows(here, name):
    odd = (here / name).rename(here / os.fsdecode(b"\xff" + name.encode()))  # its name may hold any bytes
    rows = read_vectors(odd, **FORMATS[name])
    is_numbered = FORMATS[name].get("labels") in ("y.npy", "numbers.csv")
    assert rows.ids.tolist() == (list(map(str, range(36))) if is_numbered else IDS)
    assert (rows.labels.tolist(), rows.left_out, rows.noun) == (Y.tolist(), [], "vector")
    dense = rows.X.toarray() if sp.issparse(rows.X) else rows.X
    np.testing.assert_array_equal(dense.astype(np.float32), X)
    assert (rows.contents == make_rows(sp.csr_array(X) if sp.issparse(rows.X) else X).contents).all()


@pytest.mark.parametrize("store", [np.float64, np.float32, sp.csr_array])
def test_vectors_of_any_size_are_learned_from_alike(store):
    def scale(factor):
        similarity = Similarity(learner="Euclidean").fit(make_rows(store(X * X.dtype.type(factor)), labels=Y))
        return similarity.scaling.scale_

    assert [scale(factor) for factor in (2.0**90, 2.0**-90)] == [factor * scale(1) for factor in (2.0**90, 2.0**-90)]
    kind = np.float64 if store is np.float64 else np.float32
    largest = np.full((4, 4), np.finfo(kind).max, kind) * np.array([[1], [-1], [1], [-1]], kind)
    with pytest.raises(LookalikeError, match="the array cannot be learned from: the mean length of its rows is too"):
        Similarity(learner="Euclidean").fit(make_rows(store(largest), labels=[*"aabb"]))


@pytest.mark.parametrize("name", ["v.npz", "v.parquet", "v.csv"])  # sparse, a column of lists, and a column each
def test_every_command_takes_vectors(here, name, call, result):
    given = [word for key, value in FORMATS[name].items() for word in (f"--{key.replace('_', '-')}", value)]
    said = call("fit", name, *given, "--output m.lookalike --hold-out 0.25 --scaling length --set n_steps=200")
    assert f"{name}: 36 vectors; " in said.err
    assert "; dimensions 6, classes (a 12, b 12, c 12)\n" in said.err
    learned = "dimensions 6, scaling length, classes 3, held out 9, for seen classes, steps 200\n"
    assert f"OASIS learned from 27 vectors; representation vectors, {learned}" in said.out
    few = "3 classes have two rows or more, and to choose for new classes at least 4 are needed"
    assert f"chosen for the classes that were learned from: {few}" in said.err
    answer = result("evaluate m.lookalike", name, *given)
    assert (answer["vectors"], answer["learned_from"], answer["passed_over"]) == (9, 0, 27)
    said = call("evaluate m.lookalike", name, *given).out
    assert f"{name}: rows querying 9, vectors 9, learned from 0, passed over 27, queries 9\n" in said
    by_id = [word for word in given if given[0] == "--id-column"]
    rows = read_vectors(name, **FORMATS[name])
    (ranked,) = result("rank m.lookalike", rows.ids[3], "-k 5 --compare --gallery", name, *by_id)["results"]
    for kind in ("neighbours", "before_learning"):
        neighbours = [row["id"] for row in ranked[kind]]
        assert rows.ids[3] not in neighbours
        assert all(0 <= rows.ids.tolist().index(other) < 12 for other in neighbours)
    assert "has only 35 vectors besides" in call("rank m.lookalike", rows.ids[3], "-k 99 --gallery", name, *by_id).err
    assert re.search(r"\nleft out +0\n", call("info m.lookalike").out)
    # a file of queries gives the same as their ids; its rows are other files' rows by content
    np.save("q.npy", X[3:4])
    if name != "v.npz":
        (asked,) = result("rank m.lookalike q.npy -k 5 --gallery", name, *by_id)["results"]
        assert [row["id"] for row in asked["neighbours"]] == [row["id"] for row in ranked["neighbours"]]
    ending = ".npz" if name == "v.npz" else ".npy"
    said = call("features", name, *by_id, "--representation m.lookalike --output", f"f{ending}")
    assert "6 dimensions of vectors, before learning (lookalike export writes what was learned)" in said.out
    assert pd.read_csv("f.csv", dtype=str)["id"].tolist() == rows.ids.tolist()


def test_triplets_by_id_all_add_up(here, call, result):
    odd = [("x0", "x1", "gone"), ("x0", "lost", "x20"), ("x0", "x0", "x20"), ("x0", "", "x20")]
    pd.concat([TRIPLETS, pd.DataFrame(odd, columns=TRIPLETS.columns)]).to_csv("judged.csv", index=False)
    fit = "fit v.parquet --triplets judged.csv --output t.lookalike --set n_steps=30"
    answer, said = result(fit, "--hold-out 0.25"), call(fit, "--hold-out 0.25")
    mixed = {"with held-out and other vectors": answer["why_triplets_left_out"]["with held-out and other vectors"]}
    left_out = {"with an id that has no row": 3, "with one of them twice": 1} | mixed
    learned, held_out = answer["n_triplets"], answer["n_triplets_held_out"]
    n_answers = answer["n_answers_held_out"]
    assert answer["why_triplets_left_out"] == left_out
    assert learned + held_out + n_answers + answer["triplets_left_out"] == 40
    is_known = TRIPLETS.isin([*lookalike.load("t.lookalike").rows_.query("role == 'train'")["id"]])
    assert (held_out, learned + n_answers) == ((~is_known["query"]).sum(), is_known.all(axis=1).sum())
    assert [row["path"] for row in answer["left_out"]] == ["gone", "lost"]
    parts = f"triplets: learned from {learned}, held out {held_out}, answers held out {n_answers}, left out ("
    assert parts in said.out
    assert "left out: 2 ids\n  gone: it has no row in v.parquet\n" in said.out
    assert parts in call("info t.lookalike").out
    evaluate = "evaluate t.lookalike v.parquet --triplets judged.csv"
    judged, said = result(evaluate), call(evaluate)
    assert judged["triplets"] == held_out
    of_questions = {"held out of questions about what it has learned from": n_answers}
    learned_from = {"of vectors that the model has learned from": learned}
    assert judged["triplets_left_out"] == {**learned_from, **of_questions, **left_out}
    assert judged["answers_held_out"]["triplets"] == n_answers > 0
    assert f"of vectors that the model has learned from {learned}, held out of questions about what it" in said.out
    assert 0 < (partly := judged["triplets_partly_learned"]) <= held_out
    assert f", triplets passed over {36 - held_out}, triplets partly learned {partly}, triplets left out (" in said.out
    # nothing is left out where nothing is held out, and rows that no triplet names are not learned from
    TRIPLETS[:5].to_csv("judged.csv", index=False)
    said = call(fit)
    assert "OASIS learned from 11 vectors; representation vectors, dimensions 6, scaling centred, steps 30" in said.out
    assert "\ntriplets: learned from 5, held out 0, answers held out 0\n" in said.out


def test_judgements_of_people_are_read_by_their_columns_and_agreement_is_told(here, call, result):
    # each question is asked twice, of rows in either order; people differ on one of four
    again = pd.concat([TRIPLETS, TRIPLETS.iloc[::4, [0, 2, 1]].set_axis(TRIPLETS.columns, axis=1)])
    again = pd.concat([again, TRIPLETS.drop(TRIPLETS.index[::4])])
    again.set_axis(["reference", "nearer", "farther"], axis=1).to_csv("people.csv", index=False)
    n_questions = len({(q, *sorted(others)) for q, *others in TRIPLETS.itertuples(index=False)})
    call("fit v.parquet --triplets people.csv --output t.lookalike --hold-out 0.3 --set n_steps=30")
    judged = result("evaluate t.lookalike v.parquet --triplets people.csv")
    assert judged["questions_repeated"] == n_questions
    assert judged["agreement"] == pytest.approx(0.75, abs=0.08)
    said = call("evaluate t.lookalike v.parquet --triplets people.csv").out
    assert f"agreement {judged['agreement']:.4g}, questions repeated {n_questions}, " in said
    assert "held out of questions about vectors that it has learned from:" in said
    # all answers of a question are held out or learned from together
    rows = read_vectors("v.parquet", triplets="people.csv").related()
    marked = held_out_answers(rows, 0.3, 0)
    questions = [(q, *sorted(others)) for q, *others in rows.triplets.tolist()]
    assert len({(question, mark) for question, mark in zip(questions, marked, strict=True)}) == len(set(questions))
    assert 0.1 < marked.mean() < 0.5


def test_rows_without_a_partner_are_counted_and_rows_of_one_class_are_refused(here, call, refused):
    table = pd.DataFrame(X).add_prefix("d").assign(id=IDS, label=Y)
    table.loc[table.index[:6], "label"] = [f"alone {i}" for i in range(6)]
    table.to_csv("some.csv", index=False)
    said = call("evaluate v.lookalike some.csv").out
    assert "rows querying 36, vectors 36, learned from 36, passed over 0, queries 30" in said
    table[Y == "b"].to_csv("one.csv", index=False)
    said = call("evaluate v.lookalike one.csv")
    assert (said.status, said.out) == (1, "")
    assert "any order is right: give rows of two classes or more (in cross-validation: cv=StratifiedKFold" in said.err


def test_one_query_has_no_interval_and_no_verdict(here, call, result):
    pd.DataFrame([("x0", "x20", "x1")], columns=TRIPLETS.columns).to_csv("one.csv", index=False)
    answer = result("evaluate v.lookalike v.parquet --triplets one.csv --all")
    assert [(row["low"], row["high"], row["queries"]) for row in answer["rows"]] == 3 * [(None, None, 1)]
    said = call("evaluate v.lookalike v.parquet --triplets one.csv --all")
    assert said.out.count("(one query)") == 4
    assert "worse than no learning" not in said.err


@pytest.mark.parametrize("sizes", [(10, 3, 3), (4, 3), (9, 1, 1)])
def test_steps_are_not_chosen_by_rows_of_a_single_class(sizes):
    y = np.repeat(list("abc")[: len(sizes)], sizes)
    random = np.random.default_rng(0)
    rows = make_rows(random.normal(size=(len(y), 5)), labels=y)
    assert Similarity(learner="OASIS").fit(rows).learner_.early_stopping is False
    assert not choose_learner(sp.csr_array(np.eye(len(y), 20_000)), y).parameters.get("early_stopping", False)


def test_what_learning_does_for_new_classes_is_measured_and_said(tmp_path, monkeypatch, call, result):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(2)
    # each class differs in a dimension of its own, which learning without it takes for noise
    y = np.repeat([f"c{i}" for i in range(8)], 12)
    rows = random.normal(size=(96, 8)) + 4 * np.eye(8)[np.repeat(range(8), 12)]
    pd.DataFrame(rows).add_prefix("d").assign(id=np.arange(96), label=y).to_csv("v.csv", index=False)
    call("fit v.csv --hold-out 0.25 --learner MCML --for seen --scaling length")
    answer, said = result("evaluate v.lookalike v.csv"), call("evaluate v.lookalike v.csv")
    new = answer["new_classes"]
    assert (len(new["classes"]), new["evaluated"], new["learned_from"]) == (2, 24, 72)
    # that is what the learner does which was fitted to the rows of the other classes
    is_new = np.isin(y, new["classes"])
    model = lookalike.load("v.lookalike")
    weighed = model.scaling.transform(rows)
    learner = MCML(**model.learner_.get_params()).fit(weighed[~is_new], y[~is_new])
    values = {row["method"]: row["value"] for row in new["rows"]}
    assert values["MCML"] == pytest.approx(learner.score(weighed[is_new], y[is_new]), abs=1e-6)
    assert values["Euclidean"] == pytest.approx(Euclidean().fit(rows).score(rows[is_new], y[is_new]), abs=1e-6)
    (gain,) = new["gains"]
    assert values[gain["over"]] == max(values["Euclidean"], values["cosine"])
    assert gain["value"] == pytest.approx(values["MCML"] - values[gain["over"]])
    assert gain["low"] < gain["value"] < gain["high"] < 0
    first, *lines = said.out.splitlines()
    assert first.startswith("what was learned is worse than no learning (mAP ")
    sentence = f"on new classes it is worse than no learning (mAP {values['MCML']:.3f}, {values[gain['over']]:.3f} by "
    assert f"on vectors that it has not learned from; {sentence}" in first
    assert "on 2 classes left out of learning (24 vectors):" in lines
    assert result("evaluate v.lookalike v.csv --seed 4")["new_classes"]["classes"] != new["classes"]
    quick = result("evaluate v.lookalike v.csv --no-new-classes")
    assert (quick["new_classes"], quick["rows"]) == ({"skipped": "--no-new-classes"}, answer["rows"])


def test_the_page_on_own_vectors_prints_what_the_commands_do(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/how-to/own-vectors.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    printed = ""
    for language, text in blocks:
        if language == "python":
            exec(compile(text, "own-vectors.md", "exec"), {})
        elif language == "console":
            lines = [line for line in text.splitlines() if line.startswith("$ .venv/bin/lookalike")]
            said = [call(*shlex.split(line)[2:]) for line in lines]
            assert [part.status for part in said] == [0] * len(said)
            printed = "".join(part.err + part.out for part in said)
        else:  # numbers and times are those of a machine
            lines = [[re.sub(r"[\d.,]+", "#", line).split() for line in part.splitlines()] for part in (text, printed)]
            assert [line for line in lines[0] if line not in lines[1]] == []


def test_long_ids_are_shortened_and_labels_of_several_words_quoted(tmp_path, call):
    names, labels = [f"{'x' * 3000}{row}" for row in range(12)], ["big, red", "blue"] * 6
    rows = np.random.default_rng(0).normal(size=(12, 3))
    pd.DataFrame(rows).assign(id=names, label=labels).to_csv(tmp_path / "v.csv", index=False)
    model = tmp_path / "m.lookalike"
    assert "classes ('big, red' 6, blue 6)" in call("fit", str(tmp_path / "v.csv"), "--output", str(model)).err
    said = call("rank", str(model), names[3], "--gallery", str(tmp_path / "v.csv"), "-k 2").out
    assert all(len(line) < 300 and re.search(r"x \.\.\. x+\d", line) for line in said.splitlines()), said


def test_some_rows_have_labels_and_others_may_still_be_ranked(here, call, result):
    pd.concat([LABELS[:30], pd.DataFrame({"id": ["x0", "no"], "label": ["", "a"]})]).to_csv("labels.csv", index=False)
    said = call("fit pandas.csv --labels labels.csv --output m.lookalike --learner rca")
    assert "classes (a 12, b 12, c 6), without a label 6\n" in said.err
    assert "RCA learned from 30 vectors" in said.out
    assert "left out: 2 ids\n  no: it has no row in pandas.csv\n  x0: it has no label" in said.out
    assert len(result("rank m.lookalike x0 -k 99 --gallery pandas.csv")["results"][0]["neighbours"]) == 35


ORDER = np.random.default_rng(1).permutation(36)
LABELLED = pd.Series(Y, index=IDS)
MIXED = pd.DataFrame(X, index=IDS)
CSR = sp.csr_array(np.array([[1, np.nan], [0, 0]]))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda rows: make_rows(X, IDS[:3]), "there are 3 ids for 36 rows of the array"),
        (lambda rows: make_rows(X, [*IDS[:-1], None]), "has no id of its own in row 35 .* but ''"),
        (lambda rows: make_rows(X, None, Y[:3]), r"the labels of shape \(3,\) are not one for each of 36 rows"),
        (lambda rows: make_rows(CSR), r"infinity or an empty cell in row 0 \(from 0\)"),
        (lambda rows: Similarity(classes="old").fit("nowhere.npy"), "classes must be 'new' or 'seen', not 'old'"),
        (lambda rows: Similarity(scaling="log").fit("nowhere.npy"), "there is no scaling 'log'"),
        (lambda rows: Similarity().fit(rows, labels=Y), "mine is read already: give labels, triplets and names"),
    ],
)
def test_rows_that_cannot_be_used_are_one_sentence(call, sentence):
    rows = make_rows(TABLE.set_index(pd.Index(IDS)), labels=Y.tolist(), source="mine")
    with pytest.raises(LookalikeError, match=sentence):
        call(rows)


@pytest.mark.parametrize(
    ("given", "ids", "labels"),
    [
        (X, IDS, LABELLED.iloc[ORDER]),  # by id
        (X, IDS, pd.concat([LABELLED, pd.Series(["d"], index=["more"])]).iloc[::-1]),
        (MIXED, None, LABELLED),
        (MIXED, None, LABELLED.iloc[ORDER]),
        (MIXED, None, pd.Series(Y)),  # a count is no id
        (X, pd.Series(ORDER), pd.Series(Y)),
        (X, pd.Series(IDS, index=ORDER), pd.Series(Y, index=ORDER)),
        (X, ORDER.tolist(), pd.Series(Y[ORDER], index=ORDER).sort_index()[ORDER[::-1]]),
        (X, IDS, Y.astype("S")),
        (X, np.array(IDS, "S"), pd.array(Y, dtype="string")),
    ],
)
def test_labels_go_with_their_ids(given, ids, labels):
    rows = make_rows(given, ids, labels)
    expected = Y[ORDER] if isinstance(ids, list) and ids != IDS else Y
    assert rows.labels.tolist() == expected.tolist()
    assert rows.ids.tolist() == (IDS if ids is None else [x.decode() if isinstance(x, bytes) else str(x) for x in ids])


@pytest.mark.parametrize("kind", ["Int64", "Float64", "Float32", "float32[pyarrow]", "int64[pyarrow]"])
def test_types_of_pandas_that_may_lack_a_value_are_numbers(kind):
    table = TABLE.round().astype("int64" if "nt" in kind else "float32").astype(kind)
    labels = pd.array([*Y[:-1], pd.NA], dtype="string")
    rows = make_rows(table, labels=labels)
    np.testing.assert_array_equal(rows.X, X.round())
    assert rows.labels.tolist() == [*Y[:-1], ""]
    table.iloc[4, 2] = pd.NA
    with pytest.raises(LookalikeError, match="NaN, infinity or an empty cell in the row of id 4"):
        make_rows(table)


WIDE = TABLE.assign(id=IDS, label=Y)
CLASSES = np.repeat(range(3), 12)
LEVELS = [pd.Index(CLASSES, name="a"), pd.Index(ORDER, name="b")]
SKU = WIDE.rename(columns={"id": "sku"})
NOT_INDEX = " (not the index), ids from column id, labels from column label"
NO_DIMENSIONS = {
    "index.csv": (WIDE, NOT_INDEX),
    "unnamed.csv": (WIDE.rename_axis("Unnamed: 0"), NOT_INDEX),
    "kind.csv": (WIDE.assign(label=CLASSES, kind=Y), " (not the index, column label), ids from column id, labels from"),
    "shuffled.parquet": (WIDE.iloc[ORDER], NOT_INDEX),
    "sku.parquet": (SKU.assign(id=range(36)), " (not column id), ids from column sku, labels from column label"),
    "named.parquet": (WIDE.set_index("id").rename_axis("image"), ", ids from column image, labels from column label"),
    "levels.parquet": (WIDE.set_index(LEVELS), " (not column a, column b), ids from column id"),
    "bytes.parquet": (WIDE.assign(id=[name.encode() for name in IDS]), ", ids from column id, labels from"),
}


@pytest.mark.parametrize("name", NO_DIMENSIONS)
def test_an_index_and_other_ids_and_labels_are_no_dimensions(name, tmp_path):
    table, said = NO_DIMENSIONS[name]
    (table.to_csv if name.endswith(".csv") else table.to_parquet)(tmp_path / name)
    how = {"id_column": "sku"} if "sku" in table else {"label_column": "kind"} if "kind" in table else {}
    rows = read_vectors(tmp_path / name, **how)
    assert rows.columns == tuple(TABLE.columns)
    assert rows.origin.startswith(f"columns d0 to d5{said}")
    place = {row: number for number, row in enumerate(rows.ids.tolist())}
    assert [rows.labels[place[row]] for row in IDS] == Y.tolist()
    np.testing.assert_array_equal(rows.X[[place[row] for row in IDS]], X)


def test_a_model_has_what_fit_found_whatever_is_asked_later(here):
    model = Similarity(hold_out=0.25, random_state=2).fit("v.npy", LABELS.assign(id=range(36))[1:])
    about = model.about()
    LABELS[:30].assign(id=[*range(1, 30), "gone"]).to_csv("some.csv", index=False)
    model.evaluate("v.npy", "some.csv", everything=True)
    assert model.left_out_["path"].tolist() == ["gone"]
    pd.testing.assert_frame_equal(model.rank("3", "v.npy"), model.rank(["3"], "v.npy"))  # one needs no list
    model.save("m.lookalike")
    assert lookalike.load("m.lookalike").about() == model.about() == about
    assert {"reading vectors", "learning"} <= about["seconds"].keys()
    # what was chosen for labels is not asked for with triplets
    assert type(model.learner_).__name__ != "OASIS"
    assert type(model.fit("v.parquet", triplets=TRIPLETS[:9]).learner_).__name__ == "OASIS"


def test_rows_without_a_label_do_not_tell_what_fewer_dimensions_lose(here):
    some = np.where(np.arange(36) % 2, Y, "")
    model = Similarity(learner="OASIS", parameters={"n_steps": 50}).fit(make_rows(X, labels=some))
    about = export(model, make_rows(X, labels=some), "out", to="npy", rank=3)
    assert {row["queries"] for row in about["measures"]} == {18}


RAW = [bytes.fromhex(f"65a1f0c2e4b0a1b2c3d4e5f{row}") for row in range(3)]
TENSORS = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12, dtype=np.float32).reshape(3, 2, 2))
DECIMALS = pa.array([[1.5, 2.25], [3, 4]], pa.list_(pa.float64())).cast(pa.list_(pa.decimal128(5, 2)))
DECIMAL = pa.array([1.5, 2]).cast(pa.decimal128(5, 2))
BROKEN = [f"line\n{row}" if row % 3 == 0 else f"x{row}" for row in range(60_000)]  # some at each end of a block
BROKEN_ROWS = [f'"{name}",{row}.5' for row, name in enumerate(BROKEN)]
COUNTS = [str(row) for row in range(1, 21)]
BY_ID = {"label_column": "kind", "id_column": "Id"}
COLUMN, L = np.array([["x"], ["y"], ["x"]]), {"labels": "l.npy"}
MEANINGS = [  # a file, how it is written and read, and its ids, its labels and the first row
    ("a.csv", csv("id,d0", *BROKEN_ROWS), {}, BROKEN, None, [0.5]),
    ("a.csv", csv("d0, id, label", '1, "p, q", "x"', '2, "r", y'), {}, ["p, q", "r"], ["x", "y"], [1]),
    ("a.csv", csv("", " ,,", "id,d0,label", "p,1,x", ",,", "", "q,2"), {}, ["p", "q"], ["x", ""], [1]),
    ("a.csv", csv("id,d0,label", "p,1,x,,", "q,2,y"), {}, ["p", "q"], ["x", "y"], [1]),
    ("a.csv", csv(",0,1", "0,.5,7", "1,2,8"), {}, ["0", "1"], None, [0.5, 7]),  # as pandas writes an array
    ("a.csv", csv("1,2", ".5,7", "2,8"), {}, ["0", "1"], None, [0.5, 7]),
    ("a.csv", frame(COUNTED), BY_ID, COUNTS, [*"ab"] * 10, [0.5]),
    ("a.parquet", arrow(id=RAW, d0=[1, 2, 4]), {}, [name.hex() for name in RAW], None, [1]),
    ("a.parquet", arrow(id=[b"p", b"q"], label=[b"x", None], d0=[1, 2]), {}, ["p", "q"], ["x", ""], [1]),
    ("a.parquet", arrow(id=[*"pqr"], v=TENSORS), {}, [*"pqr"], None, [0, 1, 2, 3]),
    ("a.parquet", arrow(id=[*"pq"], v=DECIMALS), {}, [*"pq"], None, [1.5, 2.25]),
    ("a.parquet", arrow(id=[*"pq"], v=DECIMAL), {}, [*"pq"], None, [1.5]),
    ("a.parquet", arrow(id=[*"pq"], v=[True, False], w=[1, 2]), {}, [*"pq"], None, [1, 1]),
    ("a.npy", array(np.eye(3)), {"labels": COLUMN}, [*"012"], [*"xyx"], [1, 0, 0]),
]


@pytest.mark.parametrize(("name", "write", "how", "ids", "classes", "first"), MEANINGS)
def test_a_table_has_one_meaning(tmp_path, monkeypatch, name, write, how, ids, classes, first):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name)
    rows = read_vectors(name, **how)
    assert (rows.ids.tolist(), rows.X[0].tolist()) == (ids, first)
    assert rows.labels.tolist() == (classes or [""] * len(ids))


def test_no_reader_gives_arrow_a_file_of_python(here, monkeypatch):
    """Arrow frees such a file on a thread of its own, and may end the program there."""
    given = []
    for owner, function in ((pq, "ParquetFile"), (pd, "read_parquet"), (pa.csv, "read_csv")):
        read = getattr(owner, function)
        monkeypatch.setattr(
            owner, function, lambda source, *args, read=read, **how: given.append(source) or read(source, *args, **how)
        )
    read_vectors("wide.parquet")
    read_vectors("pandas.csv")
    read_table("wide.parquet")
    assert [type(source) for source in given] == [pa.OSFile] * 3


def test_columns_in_another_order_are_put_into_that_of_the_model_and_others_refused(here, call):
    Similarity(learner="OASIS", scaling="length", parameters={"n_steps": 50}).fit("wide.parquet").save("v.lookalike")
    TABLE[TABLE.columns[::-1]].assign(id=IDS, label=Y).to_csv("turned.csv", index=False)
    answers = [call("evaluate", "v.lookalike", file, "--all", "--json") for file in ("wide.parquet", "turned.csv")]
    tables = [json.loads(answer.out)["rows"] for answer in answers]
    assert tables[0] == tables[1]
    assert "turned.csv has its columns in another order" in answers[1].err
    ranked = [call("rank", "v.lookalike", "x3", "--gallery", file).out for file in ("wide.parquet", "turned.csv")]
    assert ranked[0].splitlines()[1:] == ranked[1].splitlines()[1:]
    # rows that are read or made are known as those of a file are, and leave in the same order
    model = lookalike.load("v.lookalike")
    for turned in (read_vectors("turned.csv"), make_rows(TABLE[TABLE.columns[::-1]], IDS, Y)):
        with pytest.warns(UserWarning, match="columns in another order"):
            assert model.evaluate(turned).attrs["learned_from"] == 36
        with pytest.warns(UserWarning, match="columns in another order"):
            assert export(model, turned, "turned-npy", to="npy")["same_neighbours"] == 1
        np.testing.assert_array_equal(np.load("turned-npy/gallery.npy"), X)
        with pytest.warns(UserWarning, match="columns in another order"):
            found = model.rank(turned, read_vectors("wide.parquet"), k=5)
        pd.testing.assert_frame_equal(found, model.rank(IDS, "wide.parquet", k=5))
    expected = model.vectors("wide.parquet")[0]
    with pytest.warns(UserWarning, match="columns in another order"):
        np.testing.assert_array_equal(Similarity("v.lookalike").vectors("turned.csv")[0], expected)
    # columns that nobody named are in the order of the model's
    assert model.evaluate(make_rows(pd.DataFrame(X), IDS, Y)).attrs["learned_from"] == 36
    TABLE.rename(columns={"d2": "price"}).assign(id=IDS, label=Y).to_csv("other.csv", index=False)
    said = call("rank", "v.lookalike", "x3", "--gallery", "other.csv")
    lacks = "other.csv has no column d2, which the model learned from, and has price instead"
    assert said.err == f"lookalike: {lacks}: give it the same columns\n"


@pytest.mark.parametrize("far", [X * np.float32(1e18), np.float64(1e300) * X.astype(float), np.full_like(X, 3e38)])
@pytest.mark.parametrize(("command", "more"), [("evaluate", "--labels y.npy --all"), ("rank", "--gallery far.npy")])
def test_vectors_of_a_length_that_no_product_can_hold_are_refused(here, call, far, command, more):
    np.save("far.npy", far)
    said = call(f"{command} v.lookalike far.npy {more}")
    (sentence,) = [line for line in said.err.splitlines() if line.startswith("lookalike: ")]
    assert re.search("far.npy has values up to .*so their products cannot be held: give it vectors of", sentence)
    assert said.status == 1
