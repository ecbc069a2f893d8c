"""The report's pages: whole, self-contained, escaped, linked, and honest about what was not run or failed."""

import json
import re
import shutil
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from made_report import CLAIMS, DEEP, DIFFERENCES, DRAFT, JMLR, NOT_RUN, edit_sidecar, primary, write_claims
from plotted import too_small

from lookalike.core.errors import LookalikeError
from lookalike.exhibits import words
from lookalike.exhibits.claims import read_claims
from lookalike.exhibits.registry import PAPERS
from lookalike.exhibits.statuses import Outcome
from lookalike.report import PAGES, front
from lookalike.report.claims import claims_of, slug, verdict_counts
from lookalike.report.gallery import SIDE, galleries_of
from lookalike.report.pages import same_earlier
from lookalike.report.provenance import Jobs, read_jobs
from lookalike.report.readme import readme_numbers
from lookalike.report.results import Results
from lookalike.report.site import NAVIGATION, write_report
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

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

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
        assert all(source.startswith("data:") for source in page.values("src"))
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)", pages[name].partition("</style>")[0])
        for address in page.values("href"):
            target, _, anchor = address.partition("#")
            if target.startswith("../"):
                assert (results.folder / "report" / target).is_file(), f"{name} links to {address}"
            elif not address.startswith(("data:", "https://")):
                assert target in ("", *parsed), f"{name} links to {address}"
                assert not anchor or anchor in parsed[target or name].values("id"), f"{name} links to {address}"


def test_pages_are_sound_to_a_screen_reader(pages):
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


def test_the_front_page_draws_the_differences_behind_primary_claims(pages):
    page = pages["index.html"]
    gaps = page.partition('id="gaps"')[2].partition("</section>")[0]
    assert gaps.count('src="data:image/svg+xml;base64,') == 1
    assert "Made by code, to show that the methods run: websim_demo title and demo_triplets title." in page
    cards = page.partition('class="papers"')[2].partition('<p class="note">Numbers')[0]
    assert "websim_demo" not in re.sub(r'alt="[^"]*"', "", cards), "what code makes stands in its one sentence"
    assert cards.count("<img ") == 3, "of the papers with a picture"


def test_the_front_page_names_the_primary_claims_each_with_the_run_that_decides_it(pages):
    page = pages["index.html"]
    first = page.partition('id="primary"')[2].partition('id="gaps"')[0]
    best, deep = re.findall(r"<li>.*claims\.html#.*</li>", first)
    for part in (
        'href="claims.html#claim-demo-best">OASIS is best.</a>',
        "holds</span>",
        "OASIS − MCML, mAP",
        "+5.5 [+4.5, +6.5]; paper +6",
    ):
        assert part in best
    assert "not run</span>" in deep
    assert first.count("Run on demo title.") == 1
    assert "<b>1</b> holds" in first
    assert "MCML is near" not in first, "a further claim is not counted here"
    assert "2 more verdicts, each by its own intervals" in page
    visible = re.sub(r"<[^>]+>", " ", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))
    assert len(" ".join(visible.split())) < 6000


def test_the_front_page_says_what_was_not_run_and_another_counts_states(pages, results):
    front_page, page = pages["index.html"], pages["made.html"]
    assert "<p>6 drawn, 5 not run, 1 failed.</p>" in page
    for exhibit in results.exhibits():
        if exhibit.paper in PAPERS:
            assert re.search(rf'href="[\w.]*#[\w-]*{exhibit.name}-{exhibit.dataset}"', page), exhibit.id
    row = page.partition("Table 4: Precision of the compared methods</a>")[2].partition("</tr>")[0]
    assert re.findall(r"</span>([a-z ]+)</span>", row)[:1] == ["not run"]
    assert "Not run: put archive.tar at data/caltech256." in front_page
    assert re.search(r'class="note warn failed">What fails, demo title: Failed: KeyError', front_page)


def test_a_strip_shows_all_exhibits_of_a_paper_first_and_those_of_synthetic_data_come_last(pages):
    page = pages["jmlr2010.html"]
    strip = page.partition('<ul class="strip"')[2].partition("</ul>")[0]
    links = re.findall(r'href="#([^"]+)">(<img [^>]*>)?<b>[^<]*</b> <span>([^<]*)<', strip)
    assert [(id, bool(picture), state) for id, picture, state in links] == [
        ("table4", False, "real data"), ("fig6", True, "real data"), ("fig4", True, "made by code"),
    ]  # fmt: skip
    assert page.count("of data that code makes") == 1
    assert page.index("of data that code makes") < page.index('<section class="section" id="fig4"')


ARTICLES = {
    "a table stands as its sheets, with ours beside print": (
        "jmlr2010", "table4-demo",
        [">41 ± 1.6</td>", ">39 ± 1.7</td>", '<summary>Notes', "Note &lt;script&gt;",
         '<a href="../demo/exhibits/oasis-jmlr-2010/table4.tex">TeX</a>', 'id="table4-demo-made"'], [EVIL],
    ),
    "what made it": (
        "jmlr2010", "table4-demo",
        ["<dt>Rule</dt><dd>draw_category</dd>", "<dt>Drawn by</dt><dd><code>made_report.table</code></dd>",
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
        "draft2009", "fig4-demo", ['<a href="jmlr2010.html#fig6-demo">Figure 6 of', "SVG"], ["<img", "What is drawn"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ARTICLES)
def test_an_exhibit_shows(pages, case):
    page, id, visible, hidden = ARTICLES[case]
    text = article(pages[f"{page}.html"], id)
    assert [part for part in visible if part not in text] == []
    assert [part for part in hidden if part in text] == []


def test_a_draft_points_to_what_its_paper_shows(toys, folder):
    draft, paper = (Results(toys).exhibit("demo", *place) for place in ((DRAFT, "fig4"), (JMLR, "fig6")))
    assert same_earlier(draft, Results(toys)) == paper
    assert same_earlier(paper, Results(toys)) is None
    assert same_earlier(Results(toys).exhibit("caltech256", DRAFT, "fig4"), Results(toys)) is None, "it was not run"
    (folder / "demo" / "exhibits" / DRAFT / "fig4.svg").write_text("<svg/>")
    assert same_earlier(Results(folder).exhibit("demo", DRAFT, "fig4"), Results(folder)) is None, "it shows another"


def test_every_exhibit_of_a_paper_is_on_its_page_or_named_with_what_it_takes(pages):
    for exhibit in all_exhibits().values():
        if exhibit.paper in (JMLR, DRAFT, DEEP):
            page = pages[f"{PAPERS[exhibit.paper].page}.html"]
            named = re.split(r", | \(|; ", page.partition("Not in these results: ")[2].partition("</p>")[0])
            assert (f'id="{exhibit.name}"' in page) != ((exhibit.label or exhibit.title) in named), exhibit.id
    assert "a codebook of 1,000,000 visual words" in all_exhibits()["soml-aaai-2014/table3"].condition


def test_text_is_escaped_and_settings_are_shown(pages, results):
    assert not [name for name, text in pages.items() if EVIL in text or TURNED in text]
    assert "&amp; co\\u202e." in article(pages["jmlr2010.html"], "table4-demo")
    for part in ("&lt;script&gt;alert", "draw_category", "methods:"):
        assert part in pages["made.html"]


def test_who_does_not_see_a_figure_is_told_what_it_shows_and_what_came_out(pages):
    (alternative,) = re.findall(r'<img [^>]*alt="([^"]+)"', article(pages["jmlr2010.html"], "fig6-demo"))
    assert alternative == (
        "Figure 6: Precision at top k, demo title. Precision at top k of all methods. "
        "OASIS − LEGO, mAP: +7.0 [+6.0, +8.0]."
    )


def test_points_of_a_figure_tell_their_numbers_above_its_picture(pages):
    figure = article(pages["jmlr2010.html"], "fig6-demo").partition("<figure>")[2].partition("</figure>")[0]
    assert figure.index('src="data:image/svg+xml') < figure.index('<svg class="points" viewBox="0 0 ')
    assert "<title>OASIS\nk = 1\nPrecision at top k: 0.900 ± 0.010</title>" in figure
    assert "OASIS &lt;b&gt;\nDifference (points): +3.0 (+2.0 to +5.0)</title>" in pages["cvpr2014.html"]
    hint = "Rest the pointer on a point"
    assert {name for name, page in pages.items() if hint in page} == {"jmlr2010.html", "cvpr2014.html"}


def test_the_chart_of_the_front_page_has_room_beside_its_names(folder, monkeypatch):
    """As it was, 4.4 inches wide, a name of a real data set left it 10 pixels, and was cut."""
    drawn, new_figure = [], front.new_figure
    monkeypatch.setattr(front, "new_figure", lambda *sides: drawn.append(new_figure(*sides)) or drawn[-1])
    rows = [{**row, "setting": "subset of 10 classes"} for row in DIFFERENCES]
    write_claims(folder, {**CLAIMS[1], "title": "20 Caltech-256 classes, 20 partitions", "rows": json.dumps(rows)})
    claims = claims_of(Results(folder))
    # a draft has the differences of its paper
    assert front.forest([*claims, *claims])
    assert front.forest([claim for claim in claims if not claim["primary"]]) == ""
    (canvas,) = drawn
    assert too_small(canvas) == ""
    (axis,) = canvas.axes
    names = axis.get_yticklabels()
    assert [name.get_text().split("\n")[-1] for name in names] == ["OASIS − MCML, mAP"], "the one that decided"
    assert all(label.get_window_extent().x0 >= 0 for label in names), "no name is cut"
    (bars,) = axis.containers
    assert [segment[:, 0].tolist() for segment in bars.lines[2][0].get_segments()] == [[4.5, 6.5]]


def test_the_terminal_ends_with_a_table_of_the_same_differences(results):
    head, row, note = front.table_of_differences(read_claims(results.folder / "claims.csv")).splitlines()
    assert re.split("  +", head)[1:] == ["here [95% interval]", "paper", "verdict"]
    assert re.split("  +", row) == ["JMLR 2010, ten: OASIS − MCML", "+5.5 [+4.5, +6.5]", "+6", "holds"]
    assert note.startswith("Of mAP")


def test_claims_are_counted_by_verdict(pages, results):
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
    assert count == "The papers' 3 primary claims: holds 1, does not hold 0, undecided 2, not run 0."
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
