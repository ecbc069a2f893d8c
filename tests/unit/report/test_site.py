"""The report's pages: whole, self-contained, escaped, linked, and honest about what was not run or failed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from made_report import NOT_RUN, made_results
from made_results import DRAFT, JMLR, add_claims, add_exhibit, edit_sidecar

from lookalike.core.errors import LookalikeError
from lookalike.report import PAGES, site
from lookalike.report.provenance import read_jobs
from lookalike.report.results import Results
from lookalike.report.site import NAVIGATION, failures, write_report

EVIL = "<script>alert('1')</script> & co"
VOID = {"meta", "link", "img", "input", "br"}


class Page(HTMLParser):
    """Tags, ids, headings and addresses of a page; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, attribute: str) -> list[str]:
        return [str(attrs[attribute]) for _, attrs in self.tags if attribute in attrs]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Toy studies, of which one was not run and one exhibit fails; a strange name, and a broken picture."""
    folder = made_results(tmp_path_factory.mktemp("work"))
    exhibits = folder / "demo" / "exhibits"
    edit_sidecar(exhibits / JMLR / "table4.json", caption=f"First. Then {EVIL}.", notes=[f"Note {EVIL}."])
    (exhibits / DRAFT / "fig4.png").write_text("no picture")
    return Results(folder)


@pytest.fixture(scope="module")
def pages(results: Results) -> dict[str, str]:
    configuration = {"seed": 7, "datasets": {"demo": {"kind": EVIL}}, "category": {"demo": {"methods": ["oasis"]}}}
    written = write_report(
        results,
        read_jobs(results.folder.parent / "logs"),
        results.folder / "report",
        configuration=configuration,
    )
    assert not list(written[0].parent.glob(".*")), "no temporary file stays"
    return {path.name: path.read_text(encoding="utf-8") for path in written}


def article(page: str, id: str) -> str:
    return page.partition(f'id="{id}"')[2].partition("</article>")[0]


def test_all_pages_are_written(pages: dict[str, str]) -> None:
    names = [link.page for link in NAVIGATION]
    assert list(pages) == names
    assert names == [f"{page}.html" for page in PAGES]


def test_pages_load_nothing_and_their_links_lead_somewhere(pages: dict[str, str]) -> None:
    parsed = {name: Page(text) for name, text in pages.items()}
    for name, page in parsed.items():
        assert all(source.startswith("data:") for source in page.values("src"))
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)", pages[name].partition("</style>")[0])
        for address in page.values("href"):
            target, _, anchor = address.partition("#")
            if not address.startswith("data:"):
                assert target in ("", *parsed), f"{name} links to {address}"
                assert not anchor or anchor in parsed[target or name].values("id"), f"{name} links to {address}"


def test_pages_are_sound_to_a_screen_reader(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        page = Page(text)
        ids = page.values("id")
        assert len(ids) == len(set(ids)), name
        levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels)), (name, levels)
        assert [tag for tag, _ in page.tags].count("main") == 1
        for tag, attrs in page.tags:
            assert tag != "img" or attrs.get("alt")
            assert attrs.get("role") != "region" or (attrs.get("tabindex") == "0" and attrs.get("aria-label"))
        for reference in page.values("aria-labelledby"):
            assert reference in ids
        assert text.count('aria-current="page"') == 1
        assert '<html lang="en">' in text


def test_text_is_escaped(pages: dict[str, str]) -> None:
    for text in pages.values():
        assert EVIL not in text
    assert pages["jmlr2010.html"].count("&lt;script&gt;alert") >= 2
    assert "&lt;script&gt;alert" in pages["made.html"]


def test_the_front_page_says_the_state_of_every_exhibit(pages: dict[str, str], results: Results) -> None:
    front = pages["index.html"]
    for exhibit in results.exhibits():
        page = "beyond" if exhibit.paper == "learning" else ""
        assert re.search(rf'href="{page}[\w.]*#[\w-]*{exhibit.name}-{exhibit.dataset}"', front), exhibit.id
    row = front.partition("Table 4: Precision of the compared methods</a>")[2].partition("</tr>")[0]
    assert re.findall(r"</span>([a-z ]+)</span>", row)[:2] == ["not run", "higher"]
    assert "1 agrees, 3 higher" in row
    assert "7 exhibits were made, 6 were not and 1 failed." in front
    assert "Beside ours stand 5 printed numbers; 4 of them can be compared." in front
    assert "Every data set here is synthetic." in front
    assert "mAP 41 %" in front
    assert "Not run: put archive.tar at data/caltech256." in front


def test_a_table_stands_as_its_sheets_with_ours_beside_print(pages: dict[str, str]) -> None:
    text = article(pages["jmlr2010.html"], "table4-demo")
    assert ">41 ± 1.6</td>" in text
    assert 'class="printed number"' in text.replace("data row1 col2 ", "")
    beside = text.partition("Ours beside the printed numbers")[2]
    assert "did not converge" in beside
    assert "LEGO &lt;i&gt;was&lt;/i&gt; not run" in beside
    assert "Agrees: |ours - printed|" in beside
    assert "<b>Printed numbers:</b> 1 agrees, 3 higher" in text


def test_notes_are_folded_beneath_the_caption(pages: dict[str, str]) -> None:
    text = article(pages["jmlr2010.html"], "table4-demo")
    notes = text.partition('class="caption"')[2].partition('<details class="notes">')[2].partition("</details>")[0]
    assert "<summary>Notes" in notes
    assert "Note &lt;script&gt;" in notes


def test_what_was_not_run_says_what_to_do(pages: dict[str, str]) -> None:
    text = article(pages["jmlr2010.html"], "fig6-caltech256")
    assert f"N{NOT_RUN[1:]}." in text
    assert "<img" not in text
    assert "curves-code" not in text


def test_a_failed_exhibit_shows_its_error_and_the_run_names_it(pages: dict[str, str], results: Results) -> None:
    text = article(pages["beyond.html"], "learning-broken-demo")
    assert "Failed: KeyError: &#39;map&#39;." in text
    assert failures(results).startswith("1 exhibits failed: demo: learning/broken; ")


def test_a_broken_file_costs_its_exhibit_alone(pages: dict[str, str]) -> None:
    text = article(pages["draft2009.html"], "fig4-demo")
    assert "cannot be read" in text
    assert "<img" not in text
    assert "What made it" in text


def test_what_made_an_exhibit(pages: dict[str, str]) -> None:
    text = article(pages["jmlr2010.html"], "table4-demo")
    for fact in (
        "<dt>Rule</dt><dd>draw_category</dd>",
        "<dt>Drawn by</dt><dd><code>made_report.table</code></dd>",
        "datasets.demo, category.demo",
        "<dt>Root seed</dt><dd>7</dd>",
        "2 jobs, 2.00 s of processor time",
    ):
        assert fact in text, fact
    assert "no job has left a record" in article(pages["jmlr2010.html"], "table4-caltech256")
    assert "draw_category" in pages["made.html"]
    assert "methods:" in pages["made.html"]


def test_curves_stand_beside_their_picture_and_their_library_once(pages: dict[str, str]) -> None:
    page = pages["jmlr2010.html"]
    figure = article(page, "fig6-demo").partition("<figure data-figure>")[2].partition("</figure>")[0]
    assert figure.index("static-picture") < figure.index('<div class="curves paper" hidden>')
    assert 'aria-label="Plot: 10 classes: Precision at top k over number of neighbours k."' in figure
    assert figure.count("data-series=") == 4
    assert figure.count('class="curves-code">window.lookalikeDraw("curves-fig6-demo", [') == 1
    assert page.count('<script type="text/plain" id="bokeh">') == 1
    assert 'id="bokeh"' not in pages["nips2009.html"], "a page without curves has no library"
    assert "Move the pointer over a point" in pages["cvpr2014.html"]


def test_without_bokeh_the_picture_stays(results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.exhibits.interactive.find_spec", lambda name: None)
    written = write_report(results, None, tmp_path)
    assert 'class="curves-code"' not in written[1].read_text(encoding="utf-8")
    assert "<img" in written[1].read_text(encoding="utf-8")


def test_the_library_is_bokehs_own_file() -> None:
    script = site.bokeh_script()
    assert len(script) < 600_000
    # it stands in a script element
    assert "</" not in script
    assert "@packed@" not in script


def test_claims_filter_without_a_script(pages: dict[str, str]) -> None:
    text = pages["claims.html"]
    assert re.search(
        r"#verdict-holds:checked\) #claims-table tr\[data-verdict\]:not\(\[data-verdict=\"holds\"\]\)", text
    )
    assert text.count('<tr role="row" data-verdict="holds"') == 1
    assert "<dt>Rule</dt><dd>Above 0.</dd>" in text
    assert "<b>1</b> does not hold" in text


def test_an_exhibit_of_another_form_is_said_in_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    add_exhibit(folder, "demo", JMLR, "table4", sheets=[{"title": "no rows"}])
    add_exhibit(folder, "demo", JMLR, "fig6", kind="figure", panels=[{"series": "none"}])
    write_report(Results(folder), None, tmp_path / "report")
    page = (tmp_path / "report" / "jmlr2010.html").read_text(encoding="utf-8")
    for name in ("table4", "fig6"):
        assert article(page, f"{name}-demo").count("cannot be read (its ") == 1


def test_a_claims_table_of_another_form_does_not_cost_the_report(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    add_claims(folder, "demo", "learning", pd.DataFrame({"id": ["a"]}))
    write_report(Results(folder), None, tmp_path / "report")


def test_an_empty_folder_makes_a_report(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    written = write_report(Results(tmp_path / "results"), None, tmp_path / "report")
    front = written[0].read_text(encoding="utf-8")
    assert "run <code>make demo</code>" in front
    assert "0 exhibits were made" in front
    for path in written:
        Page(path.read_text(encoding="utf-8"))
    assert failures(Results(tmp_path / "results")) == ""


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "index.html").mkdir()
    with pytest.raises(LookalikeError, match="cannot write"):
        write_report(Results(tmp_path / "results"), None, tmp_path)
    assert not list(tmp_path.glob(".*"))


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})\b", block))


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(scheme: str) -> None:
    css = resources.files("lookalike.report").joinpath("static", "report.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)[:2]
    colours = _colours(light) | (_colours(dark) if scheme == "dark" else {})
    pairs = [("ink", "paper"), ("muted", "paper"), ("muted", "card"), ("muted", "row"), ("accent", "paper")]
    pairs += [("accent-ink", "accent"), ("ink", "warn"), ("good", "paper"), ("bad", "paper")]
    pairs += [(f"{state}-ink", state) for state in ("agrees", "higher", "lower", "mixed", "open")]
    for ink, ground in pairs:
        one, other = sorted((_luminance(colours[ink]), _luminance(colours[ground])))
        assert (other + 0.05) / (one + 0.05) >= 4.5, (ink, ground)
