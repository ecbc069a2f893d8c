"""What raters are shown, and on which page; raters' files are read whole or refused, with the numbers of a loop."""

import base64
import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from contract import photographs
from hypothesis import given, settings
from hypothesis import strategies as st
from made_human import IMAGES, LABEL_OF, NEIGHBOURS, PATH_OF, PATHS, draw
from PIL import Image

from lookalike.core.errors import LookalikeError
from lookalike.core.files import write_table
from lookalike.ranking.rankings import Rankings
from lookalike.studies.human import questionnaire
from lookalike.studies.human.questionnaire import plan_fingerprint, plan_from_neighbours, read_plan, write_page
from lookalike.studies.human.ratings import ANSWERS, COLUMNS, FILE_COLUMNS, read_ratings, results_of


@pytest.fixture(scope="module")
def plan():
    return draw()


@pytest.fixture
def images(tmp_path):
    photographs(tmp_path, PATHS)
    return tmp_path / "images"


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_every_query_has_its_neighbours_and_unrelated_images(seed):
    plan = draw(seed)
    pd.testing.assert_frame_equal(plan, draw(seed))
    assert tuple(plan.columns) == questionnaire.COLUMNS
    assert plan["query"].unique().tolist() == [1, 2, 3]
    assert plan["path"].tolist() == [PATH_OF[image] for image in plan["image"]]
    assert plan["query_path"].tolist() == [PATH_OF[image] for image in plan["query_image"]]
    for query, rows in plan.groupby("query_image"):
        assert rows["position"].tolist() == list(range(1, 9))
        retrieved, random = (rows[rows["role"] == role].sort_values("rank") for role in ("retrieved", "random"))
        assert retrieved["image"].tolist() == NEIGHBOURS[query]
        assert [*random["rank"], *retrieved["rank"]] == [0, 0, 0, 0, 1, 2, 3, 4]
        assert LABEL_OF[query] not in {LABEL_OF[image] for image in random["image"]}
        assert rows["image"].is_unique


def test_the_most_relevant_come_first_and_draws_decide_between_equal_ones_and_mix_candidates():
    relevance = dict(zip(NEIGHBOURS, [1.0, 5.0, 3.0, 5.0, 0.0, 2.0], strict=True))
    plans = [draw(seed, relevance=relevance) for seed in range(12)]
    drawn = {tuple(plan["query_image"].unique()) for plan in plans}
    assert drawn == {(101, 103, 102), (103, 101, 102)}
    assert len({tuple(plan.loc[plan["query"] == 1, "role"]) for plan in plans}) > 6


def test_queries_that_show_a_picture_twice_are_left_out_and_none_is_drawn_again_under_another_id():
    contents = {image: str(image) for image in IMAGES}
    twice = contents | {NEIGHBOURS[102][0]: contents[NEIGHBOURS[102][1]], 100: contents[NEIGHBOURS[100][1]]}
    with pytest.warns(UserWarning, match="only 6 test images can be query images of the rating, not 25"):
        assert draw(n_queries=25)["query"].nunique() == 6
    with pytest.warns(UserWarning, match="only"):
        assert not {100, 102} & set(draw(n_queries=6, contents=twice)["query_image"])
    # every tree has the picture of the first neighbour of the query, every house the same one
    contents = dict(zip(IMAGES, [*map(str, range(9)), *["tree"] * 7, *["house"] * 8], strict=True))
    given = {"neighbours": {102: [100, 101, 108, 109]}, "n_queries": 1, "contents": contents}
    plan = draw(n_random=1, **given)
    assert plan.loc[plan["role"] == "random", "image"].tolist() == [116], "the first house: trees are shown already"
    with pytest.raises(LookalikeError, match=r"only 1 images are unrelated to boat/0002.png, and 2 are shown"):
        draw(n_random=2, **given)
    with pytest.raises(LookalikeError, match="no test image can be asked about"):
        draw(contents=dict.fromkeys(IMAGES, "same"))


def test_a_plan_of_a_run_relates_images_of_one_class():
    words = {"image_id": [4, 5, 7, 9], "path": list("abcd"), "label": list("xxyx"), "sha256": list("wxyz")}
    manifest, run = pd.DataFrame(words), {"seed": 0, "n_queries": 3, "n_random": 1}
    bare = Rankings(np.arange(5), np.ones(4), 3, np.array([7, 9, 4, 5]))
    found = replace(bare, neighbours=np.array([[1], [2], [3], [1]]))
    for rankings, there, wanted in ((bare, 0, 1), (found, 1, 10)):
        message = f"OASIS has {there} neighbours of each of its 4 test images, and {wanted} are to be shown"
        with pytest.raises(LookalikeError, match=message):
            questionnaire.plan_of_run(rankings, manifest, n_retrieved=wanted, **run)
    plan = questionnaire.plan_of_run(found, manifest, n_retrieved=1, **run)
    assert set(plan["query_image"]) == {4, 5, 9}, "those of the larger class come first"
    retrieved = plan[plan["role"] == "retrieved"].set_index("query_image")["image"]
    assert retrieved.to_dict() == {9: 4, 4: 5, 5: 9}
    assert set(plan.loc[plan["role"] == "random", "image"]) == {7}


def test_a_plan_from_a_users_own_neighbours():
    # ranks are numbers even where they were read as text, and a line may stand twice
    rows = [(f"q{query}", f"i{query}{rank:02d}", str(rank)) for query in range(4) for rank in (11, 3, 1, 2)]
    table = pd.DataFrame([*rows, rows[0]], columns=["query_path", "path", "rank"])
    plan = plan_from_neighbours(table, n_queries=2, n_retrieved=3, n_random=5)
    for query, rows_of in plan.groupby("query_path"):
        drawn = rows_of.sort_values("rank")["path"].tolist()
        assert drawn[5:] == [f"i{query[1:]}0{rank}" for rank in (1, 2, 3)]
        # the last neighbour is related, although it is not shown
        assert f"i{query[1:]}11" not in drawn


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": ["first", 2, 3]}, "has the path 'a' for the query 'q' with the rank 'first': name both"),
        ({"path": ["a", None, "b"]}, "has the path '' for the query 'q' with the rank '2'"),
        ({"rank": [1, 2, 2]}, "q has the rank 2 twice"),
        ({"path": ["a", "b", "a"]}, "q has the neighbour a twice"),
        ({"path": ["a", "b", "q"]}, "q has 2 neighbours other than itself, and 3 are shown"),
        ({}, "lacks the column rank"),
    ],
)
def test_neighbours_that_leave_the_order_open_are_refused(change, message):
    table = pd.DataFrame({"query_path": "q", "path": ["a", "b", "c"], "rank": [1, 2, 3]}).assign(**change)
    with pytest.raises(LookalikeError, match=message):
        plan_from_neighbours(table if change else table.drop(columns="rank"), n_queries=1, n_retrieved=3, n_random=0)


def test_a_plan_is_read_as_written_or_refused_and_any_change_changes_its_fingerprint(tmp_path, plan):
    write_table(plan, tmp_path / "plan.csv")
    back = read_plan(tmp_path / "plan.csv")
    pd.testing.assert_frame_equal(back, plan, check_dtype=False)
    names = {plan_fingerprint(back), plan_fingerprint(plan)}
    assert [name[:5] for name in names] == ["plan-"]
    for column in questionnaire.COLUMNS:
        changed = plan.copy()
        changed.loc[3, column] += 1 if plan[column].dtype == "int64" else "x"
        assert plan_fingerprint(changed) not in names
    head = ",".join(questionnaire.COLUMNS)
    (tmp_path / "empty.csv").write_text(f"{head}\n")
    (tmp_path / "odd.csv").write_text(f"{head}\n1,1,a,1,2,b,chance,0\n")
    for name, message in (("empty", "without queries"), ("odd", "unknown role"), ("none", "there is no plan")):
        with pytest.raises(LookalikeError, match=message):
            read_plan(tmp_path / f"{name}.csv")


def content_of(page):
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1])


def test_the_page_holds_numbered_pictures_and_nothing_of_the_network_or_of_ids(tmp_path, plan, images):
    # other ids of the same pictures give the same page, but for the plan's name
    renumbered, title = plan.assign(image=plan["image"] + 10**6, query_image=plan["query_image"] + 10**6), "A </script>"
    contents = []
    for result in (plan, renumbered):
        write_page(result, images, tmp_path / "page.html", title=f"{title} & @@CONTENT@@")
        contents.append(content_of(tmp_path / "page.html"))
    page, content = (tmp_path / "page.html").read_text(), contents[0]
    assert [item["plan"] for item in contents] == [plan_fingerprint(plan), plan_fingerprint(renumbered)]
    assert content == contents[1] | {"plan": content["plan"]}
    assert content["title"] == "A </script> & @@CONTENT@@"
    assert page.count("</script>") == 2
    assert not re.search(r"https?:|//[a-z]|src=\"(?!data:)|@import|url\(", re.sub('base64,[^"]+', "", page))
    # nor does it tell which candidates were retrieved
    assert set(content) == {"plan", "title", "queries", "query_pictures", "pictures"}
    assert {name for query in content["queries"] for name in query} == {"query", "candidates"}
    assert not any(word in re.sub('base64,[^"]+', "", page) for word in ("retrieved", "random", "rank", ".png"))
    places = [candidate for query in content["queries"] for candidate in query["candidates"]]
    assert [position for position, _ in places] == plan["position"].tolist()
    assert [number for _, number in places] == pd.factorize(plan["image"])[0].tolist()
    assert len(set(content["pictures"])) == len(content["pictures"]) == plan["image"].nunique()


def test_pictures_are_small_upright_without_metadata_and_one_that_cannot_be_shown_is_named(tmp_path, plan, images):
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "secret"  # to be turned by a quarter
    halves = np.repeat(np.uint8([255, 0]), 400)[None, :, None] * np.ones((400, 1, 3), np.uint8)
    for path in {plan["query_path"].iloc[0], plan["path"].iloc[0]}:
        Image.fromarray(halves).save(images / path, "PNG", exif=exif)
    write_page(plan, images, tmp_path / "small.html")
    content = content_of(tmp_path / "small.html")
    drawn = [content["pictures"][0], content["query_pictures"][0]]
    assert {uri.partition(",")[0] for uri in drawn} == {"data:image/jpeg;base64"}
    small, large = (Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) for uri in drawn)
    assert (small.size, large.size) == ((100, 200), (200, 400))
    assert not small.getexif()
    pixels = np.asarray(small)
    assert pixels[:80].mean() > 240 > 15 > pixels[120:].mean()
    path = plan["path"].iloc[5]
    (images / path).write_bytes((images / path).read_bytes()[:200])
    (images / "loop").symlink_to("loop")
    reasons = {"x": "there is no such file", "loop": "loop cannot be opened: Too many levels", path: ""}
    for name, reason in reasons.items():
        with pytest.raises(LookalikeError, match=f"the image {name} of the plan cannot be shown: {reason}"):
            write_page(plan.assign(path=name), images, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
    with pytest.raises(LookalikeError, match=r"there is no folder .*: name the folder of images"):
        write_page(plan, tmp_path / "nowhere", tmp_path / "page.html")


@pytest.mark.parametrize("column", ["query_path", "path"])
@pytest.mark.parametrize("named", ["../secret.png", "{outside}/secret.png", "link.png", "linked/secret.png"])
def test_no_image_outside_the_folder_gets_into_a_page(tmp_path, plan, images, column, named):
    Image.new("RGB", (40, 40)).save(images.parent / "secret.png")
    (images / "link.png").symlink_to(images.parent / "secret.png")
    (images / "linked").symlink_to(images.parent)
    plan = plan.assign(**{column: named.format(outside=images.parent)})
    with pytest.raises(LookalikeError, match=f"of the plan cannot be shown: it lies outside {images}"):
        write_page(plan, images, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def lines_of(plan, rater="Ada", good=(0, 5), done=(1, 2, 3)):
    """The page's export, `good` and the candidate after them answered, the queries `done` done."""
    lines = [",".join(FILE_COLUMNS)]
    for number, row in enumerate(plan.itertuples()):
        answer = "good" if number in good else "cant_say" if number - 1 in good else "not_good"
        answered = "true" if answer != "not_good" or number == 3 else "false"
        seen = str(row.query in done).lower()
        lines.append(f"{plan_fingerprint(plan)},{rater},{row.query},{row.position},{answer},{answered},{seen}")
    return lines


def write(folder, lines, name="ada.csv", encoding="utf-8"):
    # with the line ends of a spreadsheet
    (folder / name).write_bytes(("\r\n".join(lines) + "\r\n").encode(encoding))
    return folder / name


def replaced(line, old, new):
    """Change one line, counted as an editor does."""

    def spoil(lines):
        assert old in lines[line - 1]
        return [*lines[: line - 1], lines[line - 1].replace(old, new, 1), *lines[line:]]

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (replaced(4, "plan-", "plan-0"), "line 4 belongs to plan-0.*go back to the settings of its page"),
        (replaced(3, "cant_say", "perhaps"), "line 3 has the answer 'perhaps', which is none of"),
        (replaced(3, "true", "yes"), "line 3 has 'yes' and 'true' where true or false stands"),
        (replaced(5, "Ada", "Bob"), "line 5 is by Bob, the lines above by Ada"),
        (replaced(2, "Ada", ""), "line 2 names no rater"),
        (replaced(2, "Ada,1,", "Ada,1.5,"), "line 2 has '1.5' under query, which is no whole number"),
        (replaced(2, "Ada,1,", "Ada,99,"), "line 2 is candidate 1 of query 99, which the plan does not have"),
        (replaced(4, "false,true", "false,false"), "line 4 says false under done, the lines above of query 1 do not"),
        (lambda lines: [*lines, lines[4]], "line 26 rates candidate 4 of query 1 a second time"),
        (lambda lines: lines[:10], "has 9 of 24 candidates: it is cut short"),
        (lambda lines: lines[:1], "has 0 of 24"),
    ],
)
def test_a_spoilt_file_is_told_with_file_and_line(tmp_path, plan, spoil, message):
    path = write(tmp_path, spoil(lines_of(plan)))
    with pytest.raises(LookalikeError, match=message) as caught:
        read_ratings([path], plan)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_ratings_have_their_roles_queries_not_done_are_left_out_and_what_is_no_ratings_is_refused(tmp_path, plan):
    ada = write(tmp_path, lines_of(plan), encoding="utf-8-sig")
    bob = write(tmp_path, lines_of(plan, "Bob", (0, 9), (1, 3)), "bob.csv")
    with pytest.warns(UserWarning, match=r"bob.csv: Bob has done 2 of 3 queries; others are left out") as text:
        ratings = read_ratings([bob, ada], plan)
    assert (len(text), tuple(ratings.columns), ratings["rater"].iloc[0]) == (1, COLUMNS, "Ada")
    first, asked = ratings[ratings["rater"] == "Ada"], ["query", "query_image", "position", "image", "role", "rank"]
    pd.testing.assert_frame_equal(first[asked], plan[asked], check_dtype=False)
    assert {answer: [*rows.index] for answer, rows in first.groupby("answer")}["cant_say"] == [1, 6]
    assert ratings.groupby("rater")["query"].unique().map(list).to_dict() == {"Ada": [1, 2, 3], "Bob": [1, 3]}
    untouched = [line.replace("good,true", "good,false") for line in lines_of(plan, good=())]
    refused = {
        "there are no files of ratings": [],
        "none.csv holds no answer in a query that is done": [write(tmp_path, untouched, "none.csv")],
        "bob.csv holds no answer in a query that is done": [write(tmp_path, lines_of(plan, "Bob", done=()), "bob.csv")],
        r"ADA.csv and .*ada.csv are both of the rater": [ada, write(tmp_path, lines_of(plan, "ADA"), "ADA.csv")],
    }
    for message, files in refused.items():
        with pytest.raises(LookalikeError, match=message):
            read_ratings(files, plan)


DEPTH = 3


def random_ratings(seed, n_raters, n_queries):
    """Ratings of three retrieved and two random images a query, in mixed places; the first rater does all queries."""
    rng, rows = np.random.default_rng(seed), []
    for query in range(1, n_queries + 1):
        places = rng.permutation(5) + 1
        for rater in range(n_raters):
            if rater and rng.random() < 0.3:
                continue
            for rank, position in enumerate(places, start=1):
                role = ("retrieved", rank) if rank <= DEPTH else ("random", 0)
                answer = ANSWERS[rng.integers(3)]
                key = (f"rater {rater}", query, 10 * query, position, 100 * query + rank, *role)
                rows.append((*key, answer, answer != "not_good" or rng.random() < 0.5, False))
    return pd.DataFrame(rows, columns=list(COLUMNS)).sample(frac=1, random_state=seed)


def by_loop(ratings):
    """By query, rater, method, metric and place: precisions, average precision, and the share of others who agree."""
    rated, found = ratings.assign(good=ratings["answer"] == "good").sort_values("rank"), {}
    for (query, rater), own in rated.groupby(["query", "rater"]):
        place, hits = (f"query={query}", rater), own.loc[own["role"] == "retrieved", "good"].to_numpy()
        precision = np.cumsum(hits) / np.arange(1, DEPTH + 1)
        others = rated[(rated["query"] == query) & (rated["rater"] != rater)].groupby("position")["good"].mean()
        found |= {(*place, "oasis", "p@k", k): value for k, value in enumerate(precision, start=1)}
        found[*place, "oasis", "ap", 0] = precision[hits].mean() if hits.any() else 0.0
        found[*place, "raters", "precision", 0] = others.reindex(own.loc[own["good"], "position"]).mean()
        found[*place, "random", "precision", 0] = own.loc[own["role"] == "random", "good"].mean()
    return pd.Series(found).rename_axis(["setting", "repeat", "method", "metric", "x"])


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), n_raters=st.integers(1, 4), n_queries=st.integers(1, 3))
def test_every_number_is_that_of_a_loop(seed, n_raters, n_queries):
    ratings = random_ratings(seed, n_raters, n_queries)
    result, numbers = results_of(ratings).fillna({"x": 0}), by_loop(ratings)
    of_queries = result[result["setting"] != ""].set_index(numbers.index.names)["value"]
    assert of_queries.to_dict() == pytest.approx(numbers.to_dict(), nan_ok=True)
    curve = numbers.xs("p@k", level="metric").groupby("x").mean()
    average, human = numbers.xs("ap", level="metric"), numbers.xs("raters", level="method")
    is_random, is_good = ratings["role"] == "random", ratings["answer"] == "good"
    singles = {
        "n_raters": ratings["rater"].nunique(),
        "n_queries": n_queries,
        "precision_at_1": curve[1],
        f"precision_at_{DEPTH}": curve[DEPTH],
        "precision_peak": curve.max(),
        "precision_peak_k": curve.round(12).idxmax(),
        "map": average.mean(),
        "standard_deviation_over_queries": average.groupby("repeat").std().mean(),
        "standard_deviation_over_raters": average.groupby("setting").std().mean(),
        "human_precision": human.groupby("setting").mean().mean(),
        "random_good": is_good[is_random].mean(),
        "answered_share": ratings["answered"].mean(),
        "simulated": 0,
        "cant_say_share": (ratings["answer"] == "cant_say").mean(),
    }
    found = result[result["setting"] == ""].set_index("metric")["value"].to_dict()
    assert found == pytest.approx(singles, nan_ok=True)
    with pytest.raises(LookalikeError, match="no ratings of retrieved candidates"):
        results_of(ratings[is_random])
