"""The report's pages, tables and pictures, and a notebook's view of a paper: whole, escaped, linked, and honest."""

import base64
import io
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_report import CLAIMS, DEEP, DIFFERENCES, DRAFT, JMLR, NOT_RUN, SOML, edit_sidecar, primary, write_claims
from PIL import Image
from plotted import too_small

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.claims import read_claims
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.results import write_results
from lookalike.exhibits.statuses import Outcome
from lookalike.exhibits.tables import Sheet
from lookalike.report import PAGES, front
from lookalike.report.claims import claims_of, slug, verdict_counts
from lookalike.report.gallery import SIDE, galleries_of
from lookalike.report.notebooks import PaperReader
from lookalike.report.pages import same_earlier
from lookalike.report.pictures import LONGEST_SIDE, MOST_BYTES, encode
from lookalike.report.provenance import Jobs, read_jobs
from lookalike.report.readme import readme_numbers
from lookalike.report.results import Results
from lookalike.report.site import NAVIGATION, write_report
from lookalike.report.tables import MISSING, frame_grid, grids_of, telling
from lookalike.studies.rooms import all_exhibits

EVIL = "<script>alert('1')</script> & co"
TURNED = "\u202e"
VOID = {"meta", "link", "img", "input", "br"}


class Page(HTMLParser):
    """Tags, ids, headings and addresses of a page; fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag

    def values(self, attribute):
        return [str(attrs[attribute]) for _, attrs in self.tags if attribute in attrs]


@pytest.fixture(scope="module")
def results(toys, tmp_path_factory):
    """Toy studies, of which one was not run and one exhibit fails, and a strange name."""
    folder = Path(shutil.copytree(toys.parent, tmp_path_factory.mktemp("work") / "copy")) / "results"
    exhibits = folder / "demo" / "exhibits"
    edit_sidecar(exhibits / JMLR / "table4.json", caption=["First.", f"Then {EVIL}."], notes=[f"Note {EVIL}{TURNED}."])
    return Results(folder)


@pytest.fixture(scope="module")
def pages(results):
    configuration = {"seed": 7, "datasets": {"demo": {"kind": EVIL}}, "category": {"demo": {"methods": ["oasis"]}}}
    jobs = read_jobs(results.folder.parent / "logs")
    written = write_report(results, jobs, results.folder / "report", configuration=configuration)
    assert not list(written[0].parent.glob(".*")), "no temporary file stays"
    return {path.name: path.read_text(encoding="utf-8") for path in written}


def article(page, id):
    return page.partition(f'id="{id}"')[2].partition("</article>")[0]


def test_pages_load_nothing_and_their_links_lead_somewhere(pages, results):
    assert list(pages) == [link.page for link in NAVIGATION] == [f"{page}.html" for page in PAGES]
    parsed = {name: Page(text) for name, text in pages.items()}
    for name, page in parsed.items():
        ids = page.values("id")
        assert len(ids) == len(set(ids)), name
        assert page.values("aria-current") == ["page"], name
        assert all(source.startswith("data:") for source in page.values("src"))
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)", pages[name].partition("</style>")[0])
        for address in page.values("href"):
            target, _, anchor = address.partition("#")
            if target.startswith("../"):
                assert (results.folder / "report" / target).is_file(), f"{name} links to {address}"
            elif not address.startswith(("data:", "https://")):
                assert target in ("", *parsed), f"{name} links to {address}"
                assert not anchor or anchor in parsed[target or name].values("id"), f"{name} links to {address}"


def test_the_front_page_draws_the_differences_behind_primary_claims_each_with_the_run_that_decides_it(pages):
    page = pages["index.html"]
    gaps = page.partition('id="gaps"')[2].partition("</section>")[0]
    assert gaps.count('src="data:image/svg+xml;base64,') == 1
    assert "Results on data made by code decide no claim: websim_demo title and demo_triplets title." in page
    cards = page.partition('class="papers"')[2].partition('<p class="note wide">')[0]
    assert "websim_demo" not in re.sub(r'alt="[^"]*"', "", cards), "what code makes stands in its one sentence"
    assert cards.count("<img ") == 3, "of the papers with a picture"
    first = page.partition('id="primary"')[2].partition('id="gaps"')[0]
    best, deep = re.findall(r"<li>.*claims\.html#.*</li>", first)
    named = ('href="claims.html#claim-demo-best">OASIS is best.</a>', "OASIS − MCML: +5.5 [+4.5, +6.5]; paper +6")
    assert [part for part in named if part not in best] == []
    assert first.index("holds</span>\n<ul>") < first.index(best), "a claim stands below its verdict"
    assert first.index("not run</span>\n<ul>") < first.index(deep)
    assert first.count("Run on demo title.") == 1
    assert "<b>1</b> holds" in page
    assert "<b>0</b> do not hold" in page
    assert "MCML is near" not in first, "a further claim is not counted here"
    assert "these and 2 more" in page
    visible = re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))
    assert len(" ".join(visible.split())) < 6000


def test_the_front_page_says_what_was_not_run_and_a_strip_shows_all_exhibits_of_a_paper_first(pages, results):
    front_page, page = pages["index.html"], pages["made.html"]
    assert "<p>6 made, 5 not run, 1 failed.</p>" in page
    for exhibit in results.exhibits():
        if exhibit.paper in PAPERS:
            assert re.search(rf'href="[\w.]*#[\w-]*{exhibit.name}-{exhibit.dataset}"', page), exhibit.id
    row = page.partition("Table 4: Precision of the compared methods</a>")[2].partition("</tr>")[0]
    assert re.findall(r"</span>([a-z ]+)</span>", row)[:1] == ["not run"]
    assert "Not run: put archive.tar at data/caltech256." in front_page
    assert re.search(r'class="note warn failed">What fails, demo title: Failed: KeyError', front_page)
    page = pages["jmlr2010.html"]
    strip = page.partition('<ul class="strip"')[2].partition("</ul>")[0]
    links = re.findall(r'href="#([^"]+)">(<img [^>]*>)?<b>[^<]*</b> <span>([^<]*)<', strip)
    assert [(id, bool(picture), state) for id, picture, state in links] == [
        ("table4", True, "real data"), ("fig6", True, "real data"), ("fig4", True, "made by code"),
    ]  # fmt: skip
    assert page.count("use data made by code") == 1
    assert page.index("use data made by code") < page.index('<section class="section" id="fig4"')


ARTICLES = {
    "a table stands as its sheets, with ours beside print": (
        "jmlr2010", "table4-demo",
        [">41 ± 1.6</td>", ">39 ± 1.7</td>", '<summary>Notes', "Note &lt;script&gt;",
         '<a href="../demo/exhibits/oasis-jmlr-2010/table4.tex">TeX</a>', 'id="table4-demo-made"'], [EVIL],
    ),
    "what made it": (
        "jmlr2010", "table4-demo",
        ["<dt>Rule</dt><dd>make_exhibits_of_category</dd>", "<dt>Function</dt><dd><code>made_report.table</code></dd>",
         "datasets.demo, category.demo", "<dt>Root seed</dt><dd>7</dd>",
         "<dt>Made on</dt><dd>2026-01-01 00:00 UTC</dd>", "<dt>Commit</dt><dd><code>aaaa</code>"], [],
    ),
    "what was not run says what to do": (
        "jmlr2010", "fig6-caltech256", [f"N{NOT_RUN[1:]}.", ], ["<img"],
    ),
    "what no job has made": ("jmlr2010", "table4-caltech256", ["no job has left a record"], []),
    "a failed exhibit shows its error": (
        "beyond", "learning-broken-demo", ["Failed: KeyError: &#39;map&#39;."], ["Traceback"],
    ),
    "what an earlier paper shows is not shown twice": (
        "draft2009", "fig4-demo", ['<a href="jmlr2010.html#fig6-demo">Figure 6 of', "SVG"], ["<img", "Plotted numbers"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ARTICLES)
def test_an_exhibit_shows(pages, case):
    page, id, visible, hidden = ARTICLES[case]
    text = article(pages[f"{page}.html"], id)
    assert [part for part in visible if part not in text] == []
    assert [part for part in hidden if part in text] == []


def test_a_draft_points_to_what_its_paper_shows_and_every_exhibit_is_on_its_page_or_named(toys, folder, pages):
    draft, paper = (Results(toys).exhibit("demo", *place) for place in ((DRAFT, "fig4"), (JMLR, "fig6")))
    assert same_earlier(draft, Results(toys)) == paper
    assert same_earlier(paper, Results(toys)) is None
    assert same_earlier(Results(toys).exhibit("caltech256", DRAFT, "fig4"), Results(toys)) is None, "it was not run"
    (folder / "demo" / "exhibits" / DRAFT / "fig4.svg").write_text("<svg/>")
    assert same_earlier(Results(folder).exhibit("demo", DRAFT, "fig4"), Results(folder)) is None, "it shows another"
    for exhibit in all_exhibits().values():
        if exhibit.paper in (JMLR, DRAFT, DEEP):
            page = pages[f"{PAPERS[exhibit.paper].page}.html"]
            named = re.split(r", | \(|; ", page.partition("Not in these results: ")[2].partition("</p>")[0])
            assert (f'id="{exhibit.name}"' in page) != ((exhibit.label or exhibit.title) in named), exhibit.id
    assert "a codebook of 1,000,000 visual words" in all_exhibits()["soml-aaai-2014/table3"].condition


def test_text_is_escaped_and_settings_are_shown(pages, results):
    assert not [name for name, text in pages.items() if EVIL in text or TURNED in text]
    assert "&amp; co\\u202e." in article(pages["jmlr2010.html"], "table4-demo")
    for part in ("&lt;script&gt;alert", "make_exhibits_of_category", "methods:"):
        assert part in pages["made.html"]


def test_points_of_a_figure_tell_their_numbers_above_its_picture_and_to_who_does_not_see_it(pages):
    figure = article(pages["jmlr2010.html"], "fig6-demo").partition("<figure>")[2].partition("</figure>")[0]
    assert figure.index('src="data:image/svg+xml') < figure.index('<svg class="points" viewBox="0 0 ')
    assert "<title>OASIS\nk = 1\nPrecision at top k: 0.900 ± 0.010</title>" in figure
    assert "OASIS &lt;b&gt;\nDifference (points): +3.0 (+2.0 to +5.0)</title>" in pages["cvpr2014.html"]
    hint = "Rest the pointer on a point"
    assert {name for name, page in pages.items() if hint in page} == {"jmlr2010.html", "cvpr2014.html"}
    (alternative,) = re.findall(r'<img [^>]*alt="([^"]+)"', article(pages["jmlr2010.html"], "fig6-demo"))
    assert alternative == (
        "Figure 6: Precision at top k, demo title. Precision at top k of all methods. "
        "OASIS − LEGO, mAP: +7.0 [+6.0, +8.0]."
    )


def test_the_chart_of_the_front_page_cuts_no_name(folder, monkeypatch):
    drawn, new_figure = [], front.new_figure
    monkeypatch.setattr(front, "new_figure", lambda *sides: drawn.append(new_figure(*sides)) or drawn[-1])
    rows = [{**row, "setting": "subset of 10 classes"} for row in DIFFERENCES]
    write_claims(folder, {**CLAIMS[1], "title": "20 Caltech-256 classes, 20 partitions", "rows": json.dumps(rows)})
    claims = claims_of(Results(folder))
    # a draft has the differences of its paper
    _, finding = front.forest([*claims, *claims])
    assert finding.startswith("1 differences between methods. 1 intervals lie above zero and 0 below it.")
    assert finding.endswith("Of 1 differences that a paper prints, 1 lie within our interval.")
    assert front.forest([claim for claim in claims if not claim["primary"]]) == ("", "")
    (canvas,) = drawn
    assert too_small(canvas) == ""
    (axis,) = canvas.axes
    assert [name.get_text() for name in axis.texts][::2] == ["OASIS − MCML, mAP"], "the one that decided"
    boxes = [label.get_window_extent() for label in axis.texts]
    assert all(canvas.bbox.x0 <= box.x0 < box.x1 <= canvas.bbox.x1 for box in boxes), "no name is cut"
    (bars,) = axis.containers
    assert [segment[:, 0].tolist() for segment in bars.lines[2][0].get_segments()] == [[4.5, 6.5]]


def test_claims_are_counted_by_verdict_and_the_terminal_ends_with_a_table_of_their_differences(pages, results):
    text = pages["claims.html"]
    assert text.count('<tr role="row" data-verdict="holds"') == 1
    assert "<dt>Rule</dt><dd>Above 0.</dd>" in text
    assert "<b>1</b> does not hold" in text
    counts = text.partition('aria-label="Claims by verdict"')[2].partition("</ul>")[0]
    first, further = counts.split("Further:")
    assert re.findall(r"<b>1</b> ([a-z ]+)</span>", first) == ["holds", "not run"]
    assert re.findall(r"<b>1</b> ([a-z ]+)</span>", further) == ["does not hold", "undecided"]
    best, near, sparse, deep = claims_of(results)
    assert [claim["primary"] for claim in (best, near, deep)] == ["yes", "", "yes"]
    counts = verdict_counts([sparse, near, near, best])
    assert list(counts.items()) == [("holds", 1), ("does not hold", 2), ("undecided", 1)]
    head, row, note = front.table_of_differences(read_claims(results.folder / "claims.csv")).splitlines()
    assert re.split("  +", head)[1:] == ["here [95% interval]", "paper", "verdict"]
    assert re.split("  +", row) == ["JMLR 2010, ten: OASIS − MCML", "+5.5 [+4.5, +6.5]", "+6", "holds"]
    assert note.startswith("Of mAP")


def test_a_primary_claim_is_decided_by_the_first_of_its_runs_that_is_at_hand(folder):
    _, best, _ = CLAIMS
    claim = primary("best", "long;demo", JMLR, "OASIS is best of all.", exhibit="table5")
    kept = [{**best, "dataset": "long", "title": "a long run", "verdict": "does not hold", "evidence": "−1.0 points"}]

    def decided_by(*rows, kept=()):
        write_claims(folder, *rows, claims=[claim], kept=kept)
        found = [row for row in read_claims(folder / "claims.csv") if row["primary"]]
        return [(row["title"], row["verdict"]) for row in found]

    assert decided_by(best) == [("demo title", "holds")]
    # as it was kept, in the words of claims.csv
    assert decided_by(best, kept=kept) == [("a long run", "does not hold")]
    (found, *further) = claims_of(Results(folder))
    assert [found[name] for name in ("claim", "evidence", "exhibits")] == ["OASIS is best of all.", "−1.0 points", []]
    assert [(row["dataset"], row["primary"]) for row in further] == [("demo", "")]
    # results at hand come before what was kept, and a run that lacks its numbers does not decide
    assert decided_by(best, {**kept[0], "verdict": "undecided"}, kept=kept) == [("a long run", "undecided")]
    assert decided_by(best, kept=[{**kept[0], "verdict": "not run"}]) == [("demo title", "holds")]
    assert decided_by() == [("long", "not run")]
    assert [row["evidence"] for row in read_claims(folder / "claims.csv")] == ["Not run: snakemake long"]


def test_claims_are_adjusted_once_and_table_pages_readme_and_terminal_tell_the_same_verdicts(folder):
    """A claim that is sure alone and not among the primary ones of its paper is undecided, wherever claims are told."""
    _, sure, near = CLAIMS

    def decided_of(*p_values):
        rows = [{**sure, "id": f"claim {p}", "p": p} for p in p_values]
        write_claims(folder, *rows, near, claims=[primary(row["id"], "demo", JMLR, "It is best.") for row in rows])
        return claims_of(Results(folder))

    assert [claim["verdict"] for claim in decided_of("0.03")] == [Outcome.HOLDS, Outcome.FAILS], "alone it is sure"
    asked = words.predicate_words(SimpleNamespace(predicate="within", parameters={"low": -1, "high": 1}))
    write_claims(folder, {**sure, "decided_by": asked}, claims=[])
    assert claims_of(Results(folder))[0]["asked"] == "between −1 and 1"
    first, *_, further = claims = decided_of("0.03", "0.001", "0.04")
    assert first["evidence"] == (
        "By its own interval it holds (p 0.030). Adjusted over the paper's 3 primary claims (Holm), p is 0.060."
    )
    assert first["further"] == ["+5.5 points"]
    said = dict(first["facts"])
    assert said["Seen before it became primary"] == "One fold."
    assert [said[term] for term in said if term.startswith("p ")] == ["0.030", "0.060"]
    # a further claim has no adjusted p
    assert [term for term in dict(further["facts"]) if term.startswith("p ")] == ["p of the verdict by itself"]
    results, report = Results(folder), folder.parent / "report"
    write_report(results, Jobs(), report)
    table = pd.read_csv(folder / "claims.csv", dtype=str).set_index("id")["verdict"]
    verdicts = {"claim 0.03": "undecided", "claim 0.001": "holds", "claim 0.04": "undecided", "near": "does not hold"}
    assert table.to_dict() == verdicts == {claim["id"]: claim["verdict"] for claim in claims}
    page, front_page = ((report / name).read_text(encoding="utf-8") for name in ("claims.html", "index.html"))
    # a browser reads the verdict of each row of the page
    cells = re.findall(r'data-verdict="([^"]+)" data-paper="[^"]+" id="claim-demo-([^"]+)"', page)
    assert {id: verdict for verdict, id in cells} == {slug(id): slug(verdict) for id, verdict in verdicts.items()}
    count = words.counts_words(results.claims)
    assert count == "The papers' 3 primary claims: 1 hold, 0 do not hold, 2 undecided, 0 not run."
    markdown, readme = (folder / "claims.md").read_text(), readme_numbers(results, "a test")
    assert all(count in text for text in (markdown, readme))
    # a sentence on how methods compare names an interval and no verdict
    assert not [text for text in (readme, front_page) if "surely" in text]


def test_entries_become_queries_with_their_rankings(toys, pages):
    (gallery,), left_out = galleries_of(Results(toys))
    assert left_out == []
    assert [query.words for query in gallery.queries] == ["class 0", "class 0", "class 1", "class 1"], "by label"
    assert re.findall(r"<option[^>]*>([^<]*)</option>", pages["gallery.html"]) == ["all 2", "class 0", "class 1"]
    query = gallery.queries[3]
    assert query.chosen == "largest gain"
    assert pages["gallery.html"].count('x="25.0%" y="25.0%" width="50.0%" height="50.0%"') == 2, "the part that asks"
    assert [mark.meaning for mark in gallery.marks] == ["same class", "other class"]
    pictures = [gallery.album[query.image].picture for query in gallery.queries]
    assert {(picture.width, picture.height) for picture in pictures} == {(SIDE, SIDE * 3 // 4)}
    assert not gallery.square
    # every picture is embedded once
    embedded = re.findall(r'<image id="([^"]+)"', pages["gallery.html"])
    assert len(set(embedded)) == 4 == pages["gallery.html"].count("data:image/webp;base64,")
    assert set(re.findall(r'<use href="#([^"]+)"', pages["gallery.html"])) == set(embedded)


def test_images_of_the_gallery_are_found_after_a_move_and_told_where_they_are_gone(folder):
    def gallery_page():
        write_report(Results(folder), Jobs(), folder.parent / "report")
        return (folder.parent / "report" / "gallery.html").read_text(encoding="utf-8")

    folder = folder.rename(folder.parent / "elsewhere")
    failed = folder.parent / "report" / "failed.txt"
    assert len(galleries_of(Results(folder))[0][0].queries) == 4
    (folder / "demo" / "images" / "0.png").write_bytes(b"no image")
    assert len(galleries_of(Results(folder))[0][0].queries) == 3
    assert "picture cannot be read" in gallery_page()
    names = re.findall(r"demo: ([\w/-]+)", failed.read_text(encoding="utf-8"))
    assert set(names) == {"learning/neighbours", "learning/broken"}, "the run ends by these"
    shutil.rmtree(folder / "demo" / "images")
    reason = "demo title: its images are not in place any more; put them back."
    page = gallery_page()
    assert failed.read_text(encoding="utf-8").endswith("; results/report/index.html says why\n")
    assert "There is no gallery" in page
    assert reason in page


def test_an_empty_folder_makes_a_report_and_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path):
    (tmp_path / "results").mkdir()
    results = Results(tmp_path / "results")
    written = write_report(results, Jobs(), tmp_path / "report")
    front = written[0].read_text(encoding="utf-8")
    assert "run <code>make demo</code>" in front
    assert "No data set has a result yet" in front
    for path in written:
        Page(path.read_text(encoding="utf-8"))
    assert (tmp_path / "report" / "failed.txt").read_text(encoding="utf-8") == ""
    (tmp_path / "index.html").mkdir()
    with pytest.raises(LookalikeError, match="cannot write"):
        write_report(results, Jobs(), tmp_path)
    assert not list(tmp_path.glob(".*"))


def cells(html):
    rows = re.findall(r"<tr>(.*?)</tr>", html.partition("<tbody>")[2], re.DOTALL)
    return [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in rows]


def heads(html):
    found = re.findall(r"<th[^>]*>(.*?)</th>", html)
    return [re.sub(r"<[^>]+>", "", head) for head in found]


def test_a_frame_shows_numbers_short_names_in_words_and_says_what_it_leaves_out():
    rows = [("a", 1234.5678, 1, True), ("b", np.nan, 20_000, False), ("c", 2.0, 3, True)]
    frame = pd.DataFrame(rows, columns=["name", "cpu_seconds", "count", "good"])
    grid = frame_grid(frame, "T", "t", limit=2)
    assert heads(grid.html) == ["name", "CPU seconds", "count", "good"]
    assert cells(grid.html) == [["a", "1,235", "1", "yes"], ["b", MISSING, "20,000", "no"]]
    assert grid.html.count("number") == 2 + 4, "heads and cells of the two columns of numbers"
    assert (grid.n_rows, grid.rest, grid.sortable) == (2, 1, True)
    columns = {"subset": "ten", "series": ["oasis", "by_chance", "x"], "n_folds": [5, 4, 5], "file": "a_b.png"}
    frame = pd.DataFrame(columns)
    grid = frame_grid(telling(frame), "T", "t", titles={"series": {"x": "OASIS, printed"}})
    assert heads(grid.html) == ["line", "folds"]
    assert [row[0] for row in cells(grid.html)] == ["OASIS", "by chance", "OASIS, printed"]


def test_sheets_of_an_exhibit_are_told_apart(toys):
    sheet = Sheet("10 classes", ("10 classes", "ours"), (("mAP", "-"),), (False, True))
    exhibit = replace(Results(toys).exhibit("demo", JMLR, "table4"), sheets=(sheet, sheet))
    first, second = grids_of(exhibit)
    captions = [f"{exhibit.heading}, demo title, part {part} of 2: 10 classes" for part in (1, 2)]
    assert [grid.caption for grid in (first, second)] == captions
    assert cells(first.html) == [["mAP", MISSING]]
    assert not first.sortable


def test_a_drawing_stands_as_svg_as_large_as_its_png_and_a_montage_no_larger_than_a_page_shows_it(tmp_path):
    Image.new("RGBA", (400, 200), (255, 255, 255, 0)).save(tmp_path / "plot.png")
    drawing = b'<svg xmlns:x="y" width="144pt" height="72pt" viewBox="0 0 144 72"></svg>'
    (tmp_path / "plot.svg").write_bytes(drawing)
    picture = encode(tmp_path / "plot.png")
    kind, _, text = picture.address.partition(",")
    assert (kind, base64.b64decode(text)) == ("data:image/svg+xml;base64", drawing)
    assert (picture.width, picture.height) == (400, 200)
    noise = np.random.default_rng(0).integers(0, 256, (120, 240, 3), dtype=np.uint8)
    Image.fromarray(noise).resize((2400, 1200), Image.Resampling.BICUBIC).save(tmp_path / "montage.png")
    (tmp_path / "montage.svg").write_bytes(b'<svg width="1pt" height="1pt">' + bytes(MOST_BYTES))
    picture = encode(tmp_path / "montage.png")
    assert (picture.width, picture.height) == (LONGEST_SIDE, LONGEST_SIDE // 2)
    decoded = Image.open(io.BytesIO(base64.b64decode(picture.address.partition(",")[2]))).convert("RGB")
    assert decoded.size == (picture.width, picture.height)
    assert len(picture.address) < (tmp_path / "montage.png").stat().st_size / 2
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(LookalikeError, match=r"a\.png cannot be read"):
        encode(tmp_path / "a.png")


def test_an_exhibit_is_shown_with_its_caption_and_notes_as_text_and_a_figure_without_its_file(folder):
    edit_sidecar(folder / "demo" / "exhibits" / JMLR / "table4.json", notes=["A <note>."])
    results = Results(folder)
    cell = PaperReader(JMLR, results).show("table4")
    first, second = cell._repr_html_().split("<hr>")
    assert second == results.exhibit("demo", JMLR, "table4")._repr_html_()
    for part in (">41 ± 1.6<", "<li>A &lt;note&gt;.</li>"):
        assert part in second, part
    assert "– not run</p>" in first
    assert "Not run: put archive.tar at data/caltech256." in first
    lines = repr(cell).split("\n\n")
    assert lines[1].startswith("Table 4: Precision of the compared methods, demo title: Precision of all")
    figure = Results(folder).exhibit("demo_triplets", DEEP, "fig5")
    alternative = 'alt="Figure 5: Differences, figure of demo_triplets title"'
    assert f'{alternative} src="data:image/png;base64,iVBOR' in figure._repr_html_()
    figure.picture().unlink()
    assert "<table" not in figure._repr_html_()


def test_the_overview_has_every_exhibit_with_its_state_and_says_what_makes_one_that_was_not_made(toys):
    reader = PaperReader(JMLR, Results(toys))
    lines = repr(reader).splitlines()
    assert "Results: caltech256 title, demo title, websim_demo title (synthetic)." in lines
    states = "caltech256 title: not run; demo title: drawn"
    assert f"Table 4: Precision of the compared methods: {states}" in lines
    row = reader._repr_html_().partition("Table 4: Precision of the compared methods</td>")[2].partition("</tr>")[0]
    assert f">{states}</td>" in row
    said = repr(PaperReader(JMLR, Results(toys)).show("table9"))
    assert said.startswith("table9 is not among the results (there are: table4, fig4, fig6): ")
    assert "make demo" in said
    assert ".venv/bin/snakemake --cores 2 jmlr2010" in said
    with pytest.raises(LookalikeError, match=f"there is no paper 'soml'; there are: {JMLR}"):
        PaperReader("soml", Results(toys))


def test_claims_say_what_each_verdict_is_about_and_metrics_name_their_source(folder):
    write_claims(folder, *CLAIMS)
    claims = PaperReader(JMLR, Results(folder)).claims()
    assert repr(claims).splitlines() == [
        "✓ holds: Primary: OASIS is best. (section 5, Table 4)",
        "✗ does not hold: MCML is near. (abstract)",
    ]
    assert "demo title: +5.5 points" in claims.html
    assert "? undecided: It is sparse. (Table 1)" in repr(PaperReader(SOML, Results(folder)).claims())
    assert "Not run: snakemake triplets" in PaperReader(DEEP, Results(folder)).claims().html
    for place, path in enumerate(("demo", "demo/human", "websim_demo", "caltech256")):
        study = {"demo": "category", "websim_demo": "web"}.get(path, "human")
        row = {"study": study, "setting": "", "metric": "map", "value": place / 10}
        (folder / path).mkdir(exist_ok=True)
        write_results([] if path == "caltech256" else [row], folder / path / "results.parquet")
    metrics = PaperReader(JMLR, Results(folder)).metrics()
    assert metrics["source"].tolist() == ["demo title", "websim_demo title (synthetic)"]
    assert metrics[["study", "value"]].to_numpy().tolist() == [["category", 0.0], ["web", 0.2]]
    assert PaperReader(SOML, Results(folder)).metrics().empty
    # of the one table of results, the rows of the study
    rows = [{"study": study, "setting": "codebook=10k", "metric": "map", "value": 0.5} for study in ("web", "human")]
    write_results(rows, folder / "websim_demo" / "results.parquet")
    found = PaperReader(JMLR, Results(folder)).metrics()
    assert found.loc[found["codebook"] == "10k", ["study", "value"]].to_numpy().tolist() == [["web", 0.5]]
    assert len(found) == 2
