"""The rating page in a real headless browser: rate, reload, export, read back."""

import numpy as np
import pandas as pd
import pytest
from made_place import paint

from lookalike.core.errors import LookalikeError
from lookalike.studies.human.questionnaire import plan_fingerprint, plan_from_neighbours, write_page
from lookalike.studies.human.ratings import read_ratings

pytestmark = pytest.mark.browser


def make_page(folder, seed=0):
    """A plan of 3 queries with 4 + 4 candidates from three classes of coloured noise."""
    paths = [f"{label}/{label}_{number:04d}.png" for label in ("boat", "tree", "house") for number in range(8)]
    rng = np.random.default_rng(1)
    for number, path in enumerate(paths):
        paint(folder / path, seed=number, size=(32, 24))
    nearest = [(query, path, rank) for query in paths[:12] for rank, path in enumerate(rng.permutation(paths)[:5])]
    table = pd.DataFrame(nearest, columns=["query_path", "path", "rank"])
    plan = plan_from_neighbours(table, seed=seed, n_queries=3, n_retrieved=4, n_random=4)
    write_page(plan, folder, file := folder / f"page-{seed}.html", title="Boats & <trees>")
    return plan, file.as_uri()


@pytest.fixture(scope="module")
def rating_page(tmp_path_factory):
    return make_page(tmp_path_factory.mktemp("rating"))


@pytest.fixture
def plan(rating_page):
    return rating_page[0]


@pytest.fixture
def page(tab, rating_page):
    tab.goto(rating_page[1])
    return tab


def begin(page, rater="Ada B."):
    page.get_by_label("Your name or initials").first.fill(rater)
    page.get_by_role("button", name="Start rating").click()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def answers_shown(page, *candidates):
    return [page.locator(".card").nth(candidate - 1).get_attribute("data-answer") for candidate in candidates]


def where(page):
    return page.locator("#where").inner_text()


def focused(page):
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.id"))


def click_answer(page, candidate, words):
    page.locator(".card").nth(candidate - 1).get_by_role("button", name=words, exact=True).click()


def export(page, folder, button="#export", *, unfinished=False):
    with page.expect_download() as waiting:
        page.locator(button).click()
        if unfinished:
            page.locator("#confirm-yes").click()
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def answers_of(ratings):
    given = ratings[ratings["answered"]]
    return dict(zip(zip(given["query"], given["position"], strict=True), given["answer"], strict=True))


def test_rate_reload_export_and_read_back(page, plan, tmp_path):
    assert page.locator("#title").inner_text() == "Boats & <trees>"
    begin(page, 'Ada "B", Čapek')
    press(page, "g", "n", "3", "ArrowRight", "1")
    answered = ["good", "not_good", "cant_say", None, "good", None]
    assert answers_shown(page, 1, 2, 3, 4, 5, 6) == answered
    assert focused(page).startswith("Candidate 6 of 8")
    page.keyboard.press("Enter")
    assert where(page) == "Query 2 of 3"
    assert focused(page).startswith("Candidate 1 of 8")
    click_answer(page, 7, "Good")
    click_answer(page, 2, "Good")
    click_answer(page, 2, "Can't say")
    page.get_by_role("button", name="Next query").click()
    click_answer(page, 8, "Not good")
    page.keyboard.press("PageUp")
    assert where(page) == "Query 2 of 3"

    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    assert where(page) == "Query 2 of 3"
    assert page.locator("#done-count").inner_text() == "2 of 3 done"
    assert answers_shown(page, 1, 2, 7) == [None, "cant_say", "good"]
    assert page.locator(".rated-by").inner_text() == 'Rated by Ada "B", Čapek'

    page.keyboard.press("PageDown")
    assert answers_shown(page, 8) == ["not_good"]
    page.keyboard.press("Enter")
    assert page.locator("#end-summary").inner_text() == "You answered 7 candidates of 24 and called 3 good."
    file = export(page, tmp_path, "#end-export")
    assert file.name == f"ratings-Ada-B-Čapek-{plan_fingerprint(plan)}.csv"
    assert page.locator("#end-saved").inner_text() == "Exported."

    ratings = read_ratings([file], plan)
    assert set(ratings["rater"]) == {'Ada "B", Čapek'}
    assert answers_of(ratings) == {
        (1, 1): "good", (1, 2): "not_good", (1, 3): "cant_say", (1, 5): "good",
        (2, 2): "cant_say", (2, 7): "good", (3, 8): "not_good",
    }  # fmt: skip
    untouched = ratings[~ratings["answered"]]
    assert len(untouched) == 24 - 7
    assert set(untouched["answer"]) == {"not_good"}
    assert not ratings["simulated"].any()
    assert len(file.read_text().splitlines()) == 1 + 24


def test_tabs_share_answers_and_another_plan_has_its_own(context, page, tmp_path):
    begin(page)
    page.keyboard.press("g")
    other = context.new_page()
    other.goto(page.url)
    other.keyboard.press("n")  # it goes on where the first stands
    page.wait_for_selector(".card[data-answer='not_good']")
    assert answers_shown(page, 1, 2) == ["good", "not_good"]
    other.goto(make_page(tmp_path, seed=5)[1])
    assert other.locator("#start").is_visible()
    begin(other, "Bob")
    assert answers_shown(other, 1) == [None]
    other.keyboard.press("n")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    assert answers_shown(page, 1) == ["good"]


def test_arrows_follow_the_rows_and_stop_at_the_edges(page):
    begin(page)
    places = []
    for key in ("ArrowLeft", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        places.append(int(focused(page).split()[1]))
    assert places == [1, 1, 6, 7, 8, 8, 3, 8]  # five in a row
    page.set_viewport_size({"width": 420, "height": 800})
    page.keyboard.press("ArrowUp")
    assert focused(page).startswith("Candidate 6 ")  # two in a row
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_export_needs_a_name_and_asks_before_the_end(page, plan, tmp_path):
    begin(page, "")
    assert "Say who you are first" in page.locator("#rater-problem").inner_text()
    assert page.locator("#rating").is_hidden()
    begin(page)
    page.keyboard.press("g")
    page.locator("#export").click()
    assert "You have not finished 3 queries" in page.locator("#confirm-text").inner_text()
    page.locator("#confirm-no").click()
    with pytest.raises(LookalikeError, match="holds no answer in a query that is done"):
        read_ratings([export(page, tmp_path, unfinished=True)], plan)
    # the second query is answered in part, but not left by Next: it does not count
    page.locator("#next").click()
    page.keyboard.press("g")
    page.locator("#export").click()
    assert "You have not finished 2 queries" in page.locator("#confirm-text").inner_text()
    page.locator("#confirm-no").click()
    with pytest.warns(UserWarning, match="Ada B. has done 1 of 3 queries"):
        ratings = read_ratings([export(page, tmp_path, unfinished=True)], plan)
    assert answers_of(ratings) == {(1, 1): "good"}
    assert set(ratings["query"]) == {1}


def test_leaving_warns_until_the_ratings_are_exported(page, tmp_path):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    begin(page)
    page.keyboard.press("g")
    page.reload()
    assert asked == ["beforeunload"]
    page.locator(".card").first.click()
    export(page, tmp_path, unfinished=True)
    page.reload()
    assert asked == ["beforeunload"]


def test_start_over_asks_and_then_forgets(page):
    begin(page)
    page.keyboard.press("g")
    page.get_by_role("button", name="Another person? Start over").click()
    assert "All answers of Ada B. on this page are deleted." in page.locator("#confirm-text").inner_text()
    assert "not exported yet" in page.locator("#confirm-text").inner_text()
    page.keyboard.press("Escape")
    assert answers_shown(page, 1) == ["good"]
    page.locator("#start-over").click()
    page.locator("#confirm-yes").click()
    page.locator("#start").wait_for()
    assert page.get_by_label("Your name or initials").first.input_value() == ""
    begin(page, "Bob")
    assert answers_shown(page, 1) == [None]
    assert page.locator("#rated-by").inner_text() == "Bob"


def test_enter_presses_the_button_that_has_the_focus(page):
    begin(page)
    press(page, "Tab", "Tab", "Enter")
    assert where(page) == "Query 1 of 3"
    assert answers_shown(page, 1) == ["not_good"]
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="How to rate").is_visible()
    press(page, "PageDown", "Tab", "Enter")  # while it is open, keys are its own; the last closes it
    assert page.get_by_role("dialog").count() == 0
    assert where(page) == "Query 1 of 3"
    page.locator("#next").focus()
    page.keyboard.press("Enter")
    assert where(page) == "Query 2 of 3", "once, not by the button and by the page"
    # on a candidate itself it goes on, as the help says
    page.keyboard.press("Enter")
    assert where(page) == "Query 3 of 3"


def test_candidates_and_answers_have_names_and_states(page):
    begin(page)
    card = page.get_by_role("group", name="Candidate 1 of 8: not answered, counts as not good")
    assert card.get_by_role("button", pressed=True).count() == 0
    page.keyboard.press("g")
    card = page.get_by_role("group", name="Candidate 1 of 8: good")
    assert card.get_by_role("button", name="Good", exact=True, pressed=True).count() == 1
    assert page.locator("#announcement").inner_text() == ("Candidate 1: Good. 1 of 8 answered")
    # one stop of the Tab key per candidate, then its three answers
    assert page.locator(".card[tabindex='0']").count() == 1
    press(page, "Tab", "Space")
    assert answers_shown(page, 2) == ["good"]
    assert page.get_by_role("progressbar", name="Queries done").count() == 1


DAMAGED = ["{", "null", '{"rater": 1}', '{"rater": "x", "screen": "rate", "current": 99}']
WITHOUT = [
    "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })",
    "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }",
    "Storage.prototype.setItem = (key) => { if (key === 'KEY') throw new DOMException('full', 'QuotaExceededError'); }",
]


@pytest.mark.parametrize("script", [*(f"localStorage.setItem('KEY', '{text}')" for text in DAMAGED), *WITHOUT])
def test_the_page_works_with_damaged_progress_and_without_storage_which_it_says(page, plan, tmp_path, script):
    page.context.add_init_script(script.replace("KEY", "lookalike-rating:" + plan_fingerprint(plan)))
    page.reload()
    warning = page.get_by_text("keeps no progress")
    assert warning.is_visible() == (script in WITHOUT[:2])
    begin(page)
    press(page, "g", "PageDown")
    assert warning.is_visible() == (script in WITHOUT), "the last refuses only what it is to keep"
    with pytest.warns(UserWarning, match="has done 1 of 3"):
        ratings = read_ratings([export(page, tmp_path, unfinished=True)], plan)
    assert answers_of(ratings) == {(1, 1): "good"}
