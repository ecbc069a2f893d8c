"""The report's pages: whole, self-contained, escaped, linked, and honest about what was not run."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from made_results import DRAFT, JMLR, add_claims, add_exhibit, add_record, edit_sidecar
from markupsafe import Markup

from lookalike.core.errors import LookalikeError
from lookalike.report import PAGES, site
from lookalike.report._pages import MEANINGS, SIGNS
from lookalike.report.curves import Curves
from lookalike.report.provenance import read_jobs
from lookalike.report.results import PAPERS, STATES, Exhibit, Results
from lookalike.report.site import NAVIGATION, write_report

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

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, attribute: str) -> list[str]:
        return [str(attrs[attribute]) for _, attrs in self.tags if attribute in attrs]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("results")
    add_exhibit(folder, "demo", JMLR, "table4", title="Table 4", caption=f"First. Then {EVIL}.", statuses={"agrees": 2})
    both = {"higher": 3, "lower": 1}
    add_exhibit(folder, "caltech256", JMLR, "table4", title="Table 4", statuses=both, status="3 higher, 1 lower")
    add_exhibit(folder, "demo", JMLR, "fig6", kind="figure", title=f"Figure 6 {EVIL}")
    sentence = "not run: put a folder at data/caltech256"
    add_exhibit(folder, "caltech256", DRAFT, "table1", title="Table 1", not_run=sentence)
    broken = add_exhibit(folder, "demo", DRAFT, "fig3", kind="figure", title="Figure 3")
    broken.with_suffix(".png").write_text("no picture")
    edit_sidecar(broken, not_run=None)
    claims = {
        "id": "better",
        "paper": JMLR,
        "place": "section 1",
        "claim": f"OASIS is best {EVIL}",
        "verdict": "does not hold",
        "evidence": "minus 1; " * 60,
        "rule": "best",
        "decided_by": "It is best.",
    }
    add_claims(folder, "demo", "learning", pd.DataFrame([claims, claims | {"verdict": "holds", "evidence": "plus 1"}]))
    return Results(folder)


@pytest.fixture(scope="module")
def told() -> list[tuple[int, int, str]]:
    return []


@pytest.fixture(scope="module")
def pages(
    results: Results, told: list[tuple[int, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    logs = tmp_path_factory.mktemp("logs")
    metrics = "results/demo/metrics.parquet"
    add_record(logs, "gather", [], [metrics], cpu_seconds=100.0)
    add_record(logs, "draw_table", [metrics], [f"results/demo/exhibits/{JMLR}/table4.csv"], seconds=3.0)
    configuration = {"seed": 7, "datasets": {"demo": {"kind": EVIL}}, "category": {"demo": {"methods": ["oasis"]}}}
    written = write_report(
        results,
        read_jobs(logs),
        tmp_path_factory.mktemp("report"),
        configuration=configuration,
        progress=lambda *step: told.append(step),
    )
    assert not list(written[0].parent.glob(".*")), "no temporary file stays"
    return {path.name: path.read_text(encoding="utf-8") for path in written}


def test_all_pages_are_written_and_told_of(pages: dict[str, str], told: list[tuple[int, int, str]]) -> None:
    names = [link.page for link in NAVIGATION]
    assert list(pages) == names
    assert names == [f"{page}.html" for page in PAGES]
    assert [name for _, _, name in told] == names[::-1]  # the first page is written when all others are there
    assert told[-1][:2] == (len(names), len(names))


def test_pages_load_nothing_and_their_links_lead_somewhere(pages: dict[str, str]) -> None:
    parsed = {name: Page(text) for name, text in pages.items()}
    for name, page in parsed.items():
        assert all(source.startswith("data:") for source in page.values("src"))
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)", pages[name].partition("</style>")[0])
        for address in page.values("href"):
            target, _, anchor = address.partition("#")
            if address != "data:,":
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
        tags = [tag for tag, _ in page.tags]
        assert tags.count("main") == 1
        assert tags.count("table") == tags.count("caption")
        for tag, attrs in page.tags:
            assert tag != "img" or attrs.get("alt")
            assert tag != "th" or attrs.get("scope")
            assert attrs.get("role") != "region" or (attrs.get("tabindex") == "0" and attrs.get("aria-label"))
        for reference in page.values("aria-labelledby"):
            assert reference in ids
        assert text.count('aria-current="page"') == 1
        assert '<html lang="en">' in text


def test_text_is_escaped(pages: dict[str, str]) -> None:
    for text in pages.values():
        assert EVIL not in text
    assert "&lt;script&gt;alert" in pages["jmlr2010.html"]
    assert "&lt;script&gt;alert" in pages["claims.html"]
    assert "&lt;script&gt;alert" in pages["made.html"]


def test_the_front_page_has_the_state_of_every_exhibit(pages: dict[str, str], results: Results) -> None:
    front = pages["index.html"]
    for paper, name, _ in results.planned():
        page = f"{PAPERS[paper].page}.html#{name}" if paper in PAPERS else f"beyond.html#{paper}-{name}"
        assert f'href="{page}"' in front
    assert 'href="jmlr2010.html#table4-caltech256"><span class="chip chip-mixed">' in front
    assert "3 higher, 1 lower" in front, "what a mixed state stands for is counted"
    assert 'href="jmlr2010.html#table4-demo"><span class="chip chip-agrees">' in front
    assert 'href="draft2009.html#table1-caltech256"><span class="chip chip-not-run">' in front
    assert "Every data set here is synthetic" not in front


def test_states_have_a_sign_and_a_meaning_each() -> None:
    assert set(MEANINGS) == set(STATES)
    signs = [SIGNS[state] for state in STATES]
    assert len(set(signs)) == len(signs)


def test_what_was_not_run_says_what_to_do(pages: dict[str, str]) -> None:
    assert "Not run: put a folder at data/caltech256." in pages["draft2009.html"]
    missing = pages["jmlr2010.html"].partition('id="table5"')[2].partition("</section>")[0]
    assert "No run has made it" in missing
    assert "<code>snakemake --cores 2 jmlr2010</code>" in missing


def test_an_exhibit_says_what_made_it(pages: dict[str, str]) -> None:
    article = pages["jmlr2010.html"].partition('id="table4-demo"')[2].partition("</article>")[0]
    for fact in (
        f"snakemake --cores 2 --force results/demo/exhibits/{JMLR}/table4.csv",
        "draw_table",
        "3.00 s by the clock, 1.00 s of processor time",
        "2 jobs, 1 min 41 s of processor time",
        "datasets.demo, category.demo",
        "a processor",
        "aaaa",
        "numpy 2.9.0",
        "<dt>Root seed</dt><dd>7</dd>",
    ):
        assert fact in article, fact
    other = pages["jmlr2010.html"].partition('id="table4-caltech256"')[2].partition("</article>")[0]
    assert "no job has left a record" in other
    assert "draw_table" in pages["made.html"]
    assert "methods:" in pages["made.html"]


def test_a_broken_file_costs_its_exhibit_alone(pages: dict[str, str]) -> None:
    article = pages["draft2009.html"].partition('id="fig3-demo"')[2].partition("</article>")[0]
    assert "cannot be read" in article
    assert "<img" not in article
    assert "What made it" in article


def test_claims_filter_without_a_script(pages: dict[str, str]) -> None:
    text = pages["claims.html"]
    assert re.search(
        r"#verdict-holds:checked\) #claims-table tr\[data-verdict\]:not\(\[data-verdict=\"holds\"\]\)", text
    )
    assert text.count('<tr role="row" data-verdict="holds"') == 1
    assert "<dt>Rule</dt><dd>It is best.</dd>" in text
    assert "<b>1</b> does not hold" in text


def test_an_empty_folder_makes_a_report(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    written = write_report(Results(tmp_path / "results"), None, tmp_path / "report")
    front = written[0].read_text(encoding="utf-8")
    assert "run <code>make demo</code>" in front
    assert "0 exhibits were made" in front
    for path in written:
        Page(path.read_text(encoding="utf-8"))


def test_a_page_that_cannot_be_written_leaves_the_old_one(results: Results, tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    with pytest.raises(LookalikeError, match="cannot write"):
        write_report(results, None, tmp_path)
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


def test_curves_stand_beside_their_picture_and_their_library_once(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def curves(exhibit: Exhibit, configuration: object) -> Curves | None:
        asked.append(exhibit.name)
        return Curves('<div id="plot"></div>', "draw(1 < 2)") if exhibit.kind == "figure" else None

    monkeypatch.setattr(site, "_curves", curves)
    monkeypatch.setattr(site, "_curves_script", lambda: Markup("library()"))
    written = {path.name: path.read_text(encoding="utf-8") for path in write_report(results, None, tmp_path)}
    figure = written["jmlr2010.html"].partition("<figure data-figure>")[2].partition("</figure>")[0]
    assert figure.index("static-picture") < figure.index('<div class="curves paper" hidden><div id="plot">')
    assert '<script type="text/plain" class="curves-code">draw(1 < 2)</script>' in figure
    assert written["jmlr2010.html"].count('<script type="text/plain" id="bokeh">library()</script>') == 1
    assert 'id="bokeh"' not in written["nips2009.html"], "a page without curves has no library"
    assert "table1" not in asked, "what was not run has no curves"
