"""A small folder of results with an exhibit of every kind and state, written as studies write theirs."""

import json
from contextlib import chdir
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
from made_place import paint

from lookalike.core.files import write_json
from lookalike.exhibits.claims import COLUMNS, claims_markdown, claims_of, decided
from lookalike.exhibits.drawing import Chart, Curve, ruler
from lookalike.exhibits.model import Axis, Drawn, Entry, Found, Mark, Ranking
from lookalike.exhibits.neighbours import GAIN, RANDOM, gallery_of
from lookalike.exhibits.registry import Exhibit
from lookalike.exhibits.study import Study
from lookalike.exhibits.style import LOOKS
from lookalike.exhibits.tables import sheets_of_cells
from lookalike.exhibits.writing import write_exhibits
from lookalike.report.provenance import read_jobs
from lookalike.report.results import Results
from lookalike.report.site import write_report

JMLR, DRAFT, SOML, DEEP = "oasis-jmlr-2010", "oasis-2009-draft", "soml-aaai-2014", "deep-ranking-cvpr-2014"
NOT_RUN = "not run: put archive.tar at data/caltech256"
RIGHT, WRONG = Mark("✓", "#009E73", "-", "same class"), Mark("✗", "#D55E00", "--", "other class")
METHODS = ("oasis", "mcml", "lego")


def table(study):
    """Precision of all methods on ten classes."""
    cells = pd.DataFrame(
        {"subset": "ten", "metric": np.repeat(["mAP", "top 1"], 3), "method": METHODS * 2,
         "ours": [41.0, 39, 36, 56, 50, 44], "ours_std": 1.6, "printed": [33.0, 39, np.nan, 43, 39, 39],
         "ours_cell": ["41 ± 1.6", "39 ± 1.6", "36 ± 1.6", "56", "50", "-"],
         "printed_cell": ["33 ± 1.6", "39 ± 1.7", "*", "43", "39", "39"],
         "note": ["", "", "did not converge", "", "", ""]}
    )  # fmt: skip
    titles = {"method": {"oasis": "OASIS", "mcml": "MCML", "lego": "LEGO"}, "subset": {"ten": "10 classes"}}
    notes = ("LMNN: at most 20 iterations.",)
    return Drawn(cells, notes, titles, sheets_of_cells(cells, "metric", "method", "subset", titles))


def curves(study):
    """Precision at top k of all methods."""
    k = np.arange(1.0, 41.0)
    parts = [
        pd.DataFrame({"series": method, "k": k, "p": (0.9 - 0.2 * place) / np.sqrt(k), "error": 0.01})
        for place, method in enumerate(METHODS)
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame["low"], frame["high"] = frame["p"] - frame["error"], frame["p"] + frame["error"]
    curves = [Curve(name.upper(), LOOKS[name], frame[frame["series"] == name], "k", "p") for name in METHODS]
    axes = Axis("Number of neighbours k", text="k = {:.0f}"), Axis("Precision at top k", low=0, text="{:.3f}")
    chart = Chart(1)
    chart.panel("10 classes", *axes, curves).axhline(0.1, label="chance", **ruler())
    return chart.drawn(frame, titles={"series": {name: name.upper() for name in METHODS}})


def differences(study):
    """Differences of systems with their intervals."""
    frame = pd.DataFrame({"row": [0, 1, 2], "difference": [3.0, -1.0, 0.5]})
    frame["low"], frame["high"] = frame["difference"] - 1, frame["difference"] + 2
    curve = Curve("difference", replace(LOOKS["oasis"], kind="points"), frame, "row", "difference")
    rows = Axis("", ticks=((0, "OASIS <b>"), (1, "MCML"), (2, "LEGO")), low=-0.6, high=2.6)
    chart = Chart(1)
    chart.panel("", rows, Axis("Difference (points)", text="{:+.1f}"), [curve])
    return chart.drawn(frame)


def claim(id, paper, place, text, verdict, **more):
    """A row that a study writes of a claim, by itself."""
    about = {"dataset": "demo", "title": "demo title", "data": "demo title, means over 5 folds."}
    row = {"id": id, "paper": paper, "place": place, "claim": text, "verdict": verdict, "exhibit": f"{paper}/table4"}
    return dict.fromkeys(COLUMNS, "") | about | {"further": "[]", "rows": "[]"} | row | more


DIFFERENCES = [
    {"key": ["ten", "map", "oasis", other], "setting": "ten", "names": f"OASIS − {other.upper()}", "metric": "mAP",
     "here": here, "paper": paper, "unit": "points", "mean": mean,
     "low": mean - 1, "high": mean + 1, "printed": printed}
    for other, here, paper, mean, printed in (
        ("mcml", "+5.5 [+4.5, +6.5]", "+6", 5.5, 6.0), ("lego", "+7.0 [+6.0, +8.0]", "–", 7.0, None))
]  # fmt: skip
CLAIMS = [
    claim("sparse", SOML, "Table 1", "It is sparse.", "undecided", exhibit=f"{SOML}/table1"),
    claim("best", JMLR, "section 5, Table 4", "OASIS is best.", "holds", evidence="+5.5 points", p="0.001",
          decided_by="Above 0.", rows=json.dumps(DIFFERENCES), primary="yes"),
    claim("near", JMLR, "abstract", "MCML is near.", "does not hold", evidence="+3.2 points", p="0.002",
          further=json.dumps(["+3.2 points"] * 29), rows=json.dumps(DIFFERENCES[1:]), exhibit=f"{JMLR}/fig6"),
]  # fmt: skip


def primary(id, run, paper, text, place="", exhibit="table4"):
    """A primary claim, as claims.csv has it, which data sets decide."""
    names = ("study", "settings", "contrasts", "parameters", "limits", "protocol")
    about = {"id": id, "paper": paper, "text": text, "place": place, "exhibit": f"{paper}/{exhibit}", "run": run}
    return claims_of([dict.fromkeys(names, "") | about | {"predicate": "within", "seen": "One fold."}])[0]


PRIMARY = [primary("best", "demo", JMLR, "OASIS is best.", "section 5, Table 4")]
PRIMARY += [primary("deep", "triplets", DEEP, "It ranks best.", "Table 1")]


def write_claims(results, *rows, claims=PRIMARY, kept=()):
    """Decide claims as the workflow's job does, and write both files of them."""
    tables = [pd.DataFrame(own, columns=list(COLUMNS)) for own in (rows, kept)]
    found = decided(tables[:1], tables[1:], claims, "snakemake {}".format)
    found.to_csv(results / "claims.csv", index=False)
    (results / "claims.md").write_text(claims_markdown(found))


def neighbours(study):
    """Queries with their nearest images before and after learning."""
    images = [f"results/{study.dataset}/images/{number}.png" for number in range(4)]
    marks = (RIGHT, WRONG) * 2
    found = [Found(image, f"class {place % 2}", marks[place], "0.500") for place, image in enumerate(images)]
    entries = []
    for place, image in enumerate(images):
        before = Ranking("Before learning: Euclidean", tuple(found[:3]), "2 of 3 of its class (67 %)")
        after = Ranking("After learning: OASIS", tuple(found[::-1]), "2 of 4 of its class (50 %)")
        chosen, box = (GAIN, (0.25, 0.25, 0.75, 0.75)) if place == 3 else (RANDOM, None)
        entries.append(Entry(image, f"class {place % 2}", (before, after), chosen, "= as many of its class", box))
    return gallery_of(entries, ("Queries by rule, none picked by hand.",))


def broken(study):
    """Something that cannot be drawn."""
    raise KeyError("map")


EXHIBITS = {
    "category": [
        (f"{JMLR}/table4", "Precision of the compared methods", table),
        (f"{JMLR}/fig6", "Precision at top k", curves),
        (f"{DRAFT}/fig4", "Precision at top k", curves),
        ("learning/neighbours", "Neighbours before and after learning", neighbours),
        ("learning/broken", "What fails", broken),
    ],
    "finegrained": [(f"{DEEP}/fig5", "Differences", differences)],
    "web": [(f"{JMLR}/fig4", "Training time", curves)],
}


class ToyStudy(Study):
    """A study of no numbers."""

    size: ClassVar[str] = "1,234 images"

    def data_sentence(self, drawn):
        return f"{self.title}, means over 5 folds; error bars are standard errors."


def write_toy_results(folder):
    """Write ``results`` and ``logs`` below a folder, as studies and their jobs do; returns the results."""
    results = folder / "results"
    for number in range(4):
        paint(results / "demo" / "images" / f"{number}.png", seed=number, size=(160, 120))
    write_study(results, "demo", "category", synthetic=False)
    write_study(results, "caltech256", "category", synthetic=False, not_run=NOT_RUN)
    write_study(results, "demo_triplets", "finegrained")
    write_study(results, "websim_demo", "web")
    write_claims(results, *CLAIMS)
    (results / "demo" / "exhibits" / "headline.txt").write_text("mAP 41 %\n")
    add_record(folder / "logs", "make_exhibits_of_category", ["results/demo/category/metrics.parquet"],
               [f"results/demo/exhibits/{JMLR}/table4.json"])  # fmt: skip
    for number, learner in enumerate(("oasis", "lego")):
        add_record(folder / "logs", f"learn_{learner}", [], [f"results/demo/runs/{learner}"], cpu_seconds=5.0 + number)
    runs = [f"results/demo/runs/{learner}" for learner in ("oasis", "lego")]
    add_record(folder / "logs", "gather", ["results/demo/images", *runs], ["results/demo/category/metrics.parquet"])
    return results


def toy_study(dataset, *, synthetic=True):
    """Return a toy study of a data set."""
    kind = {"kind": "synthetic"} if synthetic else {"kind": "folder", "path": "data"}
    settings = {"study": {}, "shared": {"seed": 1, "datasets": {dataset: {"title": f"{dataset} title"} | kind}}}
    return ToyStudy.given(dataset, settings)


KINDS = {"table": "table", "broken": "table", "neighbours": "gallery"}
"""Function to the kind of its exhibit, where that is no figure."""


def toy_exhibit(id, draw, room="category", **about):
    """Return the exhibit that a function of a test's module draws, whose docstring is its caption."""
    by = {KINDS.get(draw.__name__, "figure"): f"{draw.__module__}.{draw.__name__}"}
    return Exhibit(id=id, study=room, caption=draw.__doc__, **{"title": "A title", **by, **about})


def write_study(results, dataset, room, *, synthetic=True, not_run=""):
    """Write all exhibits of one toy study; images are found from the folder that holds the results."""
    needs = ["metrics"] if not_run else []
    rows = enumerate(EXHIBITS[room])
    exhibits = [toy_exhibit(id, draw, room, title=title, needs=needs, order=n) for n, (id, title, draw) in rows]
    study = toy_study(dataset, synthetic=synthetic).finished({}, not_run=not_run)
    with chdir(results.parent):
        write_exhibits(exhibits, study, results / dataset / "exhibits")


def add_record(logs, name, inputs, outputs, **changes):
    path = logs / f"{name}.job.json"
    record = {
        "rule": name.partition("/")[0], "inputs": inputs, "outputs": outputs, "started": "2026-01-01T00:00:00+00:00",
        "seconds": 2.0, "cpu_seconds": 1.0, "peak_megabytes": 100, "threads": 1, "processor": "a processor",
        "python": "3.12.1", "versions": {"lookalike": "0.1", "numpy": "2.9.0"}, "commit": "aaaa", "modified": False,
    }  # fmt: skip
    write_json(record | changes, path)
    return path


def edit_sidecar(sidecar, **values):
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | values))


def write_toy_report(folder):
    """Write the report of `write_toy_results` beside them; returns its folder."""
    results = Results(write_toy_results(folder))
    configuration = {"seed": 7, "datasets": {"demo": {"kind": "synthetic"}}, "category": {"demo": {"folds": 5}}}
    write_report(results, read_jobs(folder / "logs"), results.folder / "report", configuration=configuration)
    return results.folder / "report"
