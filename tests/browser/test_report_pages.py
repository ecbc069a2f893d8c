"""The report in a real headless browser: each page, by pointer, by keys, without JavaScript, in the dark, in print."""

import re
from urllib.parse import unquote

import pytest

from lookalike.report import PAGES

pytestmark = pytest.mark.browser

NAMES = [f"{page}.html" for page in PAGES]
PAPER = "jmlr2010.html"
ALIKE = {"exclude": [["tbody tr:nth-child(n+13)"], [".gallery-list li:nth-child(n+13)"]]}
"""Parts of a page that are made as those before them are, which need no look of their own."""


@pytest.fixture
def opened(tab, report):
    """Opens a page of the report, at an anchor of it or at its top."""

    def open_page(address):
        name, mark, anchor = address.partition("#")
        tab.goto(f"{(report / name).as_uri()}{mark}{anchor}")
        return tab

    return open_page


OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true })"
OVERFLOW = """() => {
  const root = document.documentElement
  if (root.scrollWidth <= root.clientWidth) return []
  const wide = (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !one.closest(".scroll")
  return [document.body, ...document.body.querySelectorAll("*")].filter(wide).map((one) => one.outerHTML.slice(0, 120))
}"""
"""What reaches past the right edge of a page that scrolls sideways; nothing where it does not."""
CLIPPED = """() => [...document.querySelectorAll(".cards")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML.slice(0, 160))"""
"""Tables of which a part is out of sight."""


@pytest.mark.parametrize("name", NAMES)
def test_every_page_opens_at_every_width(opened, name):
    page = opened(name)
    for width in (360, 900, 1400):  # a phone, a tablet, a wide screen
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(OVERFLOW)
        page.evaluate(OPEN)
        assert width == 900 or page.evaluate(CLIPPED) == []
    assert page.locator("h1").inner_text().strip()
    assert page.title().strip()
    page.evaluate("Promise.all([...document.images].map((one) => one.decode()))")  # every picture can be read


def test_claims_are_filtered_and_lead_to_their_exhibit_and_back(opened):
    page = opened("claims.html")
    rows = page.locator("#claims-table tbody tr")
    verdict = rows.first.get_attribute("data-verdict")
    page.locator(f"#verdict-{verdict}").check()
    outcomes = [row.get_attribute("data-verdict") for row in rows.all() if row.is_visible()]
    assert 0 < len(outcomes) < rows.count()
    assert set(outcomes) == {verdict}
    claim = rows.first.get_attribute("id")
    rows.first.locator("td").last.locator("a[href*='#']").first.click()
    page.locator(":target").wait_for()
    page.locator(f"details.about:has(a[href='claims.html#{claim}'])").first.evaluate("one => { one.open = true }")
    page.locator(f"a[href='claims.html#{claim}']").first.click()
    page.locator(f"tr:target[id='{claim}']").wait_for()


def test_the_keyboard_skips_to_the_content(opened):
    page = opened(PAPER)
    page.keyboard.press("Tab")
    link = page.locator(":focus")
    assert link.get_attribute("href") == "#main"
    assert (link.bounding_box() or {"y": -1})["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("name", [PAPER, "claims.html", "made.html"])
def test_tables_are_sorted_by_their_heads(opened, name):
    page = opened(name)
    page.evaluate(OPEN)
    tables = page.locator("table.sortable, .sortable > table")
    n_numeric = 0
    for table in tables.all()[:2]:
        for place, head in enumerate(table.locator("thead tr").first.locator("th").all()):
            if not head.get_by_role("button").count():
                continue
            head.get_by_role("button").click()
            assert (head.get_attribute("aria-sort"), table.locator("[aria-sort]").count()) == ("ascending", 1)
            rising = column(table, place)
            head.get_by_role("button").press("Enter")
            assert head.get_attribute("aria-sort") == "descending"
            falling = column(table, place)
            assert [*dict.fromkeys(falling)] == [*dict.fromkeys(rising)][::-1]
            if all(isinstance(key, float) for key in rising):
                n_numeric += len(set(rising)) > 2
                assert rising == sorted(rising)
    assert n_numeric or name == "claims.html"


def column(table, place):
    """Cells of a column: the number that each begins with, else its words; without those that have nothing."""
    cells = (row.locator("th,td").nth(place) for row in table.locator("tbody tr").all())
    texts = [(cell.get_attribute("data-key") or cell.inner_text()).strip().lower() for cell in cells]
    found = [(text, re.match(r"(?:< )?([+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?)", text.replace("−", "-"))) for text in texts]
    return [float(number[1].replace(",", "")) if number else text for text, number in found if text not in "-–"]


@pytest.mark.parametrize("width", [390, 1400])
def test_the_pointer_reaches_every_point_of_a_figure_that_fits(opened, width):
    page = opened("cvpr2014.html")
    page.set_viewport_size({"width": width, "height": 900})
    image = page.locator("figure:has(.points) img").first
    box = image.bounding_box()
    assert box == image.locator("xpath=../*[@class='points']").bounding_box()
    assert box
    assert box["x"] + box["width"] <= width
    found = page.evaluate(
        """() => [...document.querySelectorAll(".points circle")].map((disc) => {
          disc.scrollIntoView({ block: "center", behavior: "instant" })
          const box = disc.getBoundingClientRect()
          return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)?.textContent
        })"""
    )
    assert len(found) == 3
    assert all(re.search(r"\nDifference \(points\): [+-]\d\.\d \([+-]\d\.\d to [+-]\d\.\d\)", said) for said in found)


def test_the_gallery_answers_clicks_and_keys(opened):
    page = opened("gallery.html")
    gallery = page.locator("section.gallery").first
    links, queries = gallery.locator(".gallery-list a"), gallery.locator(".gallery-query")
    assert links.count() == queries.count() > 2

    def seen():
        return [str(query.get_attribute("id")) for query in queries.all() if query.is_visible()]

    ids = [str(query.get_attribute("id")) for query in queries.all()]
    assert seen() == ids[:1]
    links.nth(1).click()
    assert seen() == [ids[1]]
    assert gallery.locator("[aria-current=true]").get_attribute("href") == f"#{ids[1]}"
    links.nth(1).focus()
    for key, place in (("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(ids) - 1), ("Home", 0)):
        page.keyboard.press(key)
        assert seen() == [ids[place]]
        assert page.evaluate("document.activeElement.getAttribute('href')") == f"#{ids[place]}"
        assert unquote(page.evaluate("location.hash")) == f"#{ids[place]}"
        assert gallery.locator("[aria-current=true]").count() == 1
    assert gallery.locator("[role=status]").inner_text().startswith("Query 1 of")


def test_a_phone_shows_one_ranking_and_an_address_its_query(opened):
    page = opened("gallery.html")
    page.set_viewport_size({"width": 360, "height": 800})
    query = page.locator(".gallery-query:visible").first
    sides = [query.locator(f".gallery-{side}") for side in ("before", "after")]
    assert [side.is_visible() for side in sides] == [True, True]
    page.locator("[data-shows=after]").first.click()
    assert [side.is_visible() for side in sides] == [False, True]
    wanted = str(page.locator("section.gallery").first.locator(".gallery-query").nth(2).get_attribute("id"))
    opened("index.html")
    page = opened(f"gallery.html#{wanted}")
    assert page.locator(f"[id='{wanted}']").is_visible()
    assert page.locator("section.gallery").first.locator(".gallery-query:visible").count() == 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_missing_without_javascript(chromium, report, name):
    with chromium.new_context(java_script_enabled=False, viewport={"width": 900, "height": 900}) as context:
        page = context.new_page()
        page.goto((report / name).as_uri())
        articles = page.locator("article.exhibit")
        assert articles.locator(".caption").count() == articles.count()
        hidden = "all => all.filter((one) => !one.checkVisibility()).map((one) => one.id)"
        assert articles.locator(".caption, .picture img").evaluate_all(hidden) == []
        if name in ("jmlr2010.html", "beyond.html"):
            assert articles.locator(".caption").count() >= 4
        assert page.locator(".gallery-tools:visible").count() == 0
        queries = page.locator(".gallery-query")
        assert queries.evaluate_all(hidden) == []
        assert (queries.count() > 0) == (name == "gallery.html")
        assert len(page.locator("main").inner_text()) > 100


@pytest.mark.parametrize("name", NAMES)
def test_no_page_has_an_obstacle_to_a_screen_reader(opened, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: make .venv/.development").Axe()
    page = opened(name)
    found = []
    # nothing but colours is other in the dark
    for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        results = axe.run(page, ALIKE, {"resultTypes": ["violations"], **options}).response
        for violation in results["violations"]:
            node = violation["nodes"][0]["html"][:160]
            found.append(f"{scheme}: {violation['id']} ({violation['help']}): {node}")
    assert found == []


def test_the_dark_is_dark_and_print_has_the_pictures_and_no_navigation(opened):
    page = opened("index.html")

    def brightness(scheme, part):
        page.emulate_media(color_scheme=scheme)
        return sum(map(float, re.findall(r"[\d.]+", page.evaluate(f"getComputedStyle(document.body).{part}"))[:3]))

    assert brightness("light", "backgroundColor") > 600 > 200 > brightness("dark", "backgroundColor")
    assert brightness("light", "color") < 300 < 450 < brightness("dark", "color")
    page = opened(PAPER)
    bar = page.get_by_role("navigation", name="Pages of the report")
    assert bar.is_visible()
    page.emulate_media(media="print")
    assert not bar.is_visible()
    assert page.locator("figure .picture img").first.is_visible()
