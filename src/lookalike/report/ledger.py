"""The ledger: every printed number and claim of the papers beside ours, in the demo and in the longest run.

Printed numbers stand in the papers' tables as studies make them, and in the summaries of kept runs. A file beside the
printed numbers says for each exhibit which runs are the longest, and what would change what they show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from lookalike.exhibits.registry import PAPERS
from lookalike.report.results import Dataset, Results
from lookalike.report.tables import text_of
from lookalike.studies.rooms import all_exhibits

COLUMNS = ("paper", "place", "what", "printed", "demo", "longest", "run", "draws", "change")
"""``run`` is the longest run, ``draws`` over what ours is a mean, and ``change`` what would change it."""
METHODS = ("column", "system", "method")
"""Columns of a table beside print that name the method, the first that it has."""
AS_PRINTED = {"learning/tens": "oasis-jmlr-2010/table4"}
"""Exhibit of our own to that of a paper whose numbers it has, over more draws."""
Numbers = Sequence[Mapping[str, str]]


def numbers_of(dataset: Dataset) -> list[dict[str, str]]:
    """Return ours beside each printed number that the tables of a data set have."""
    found = []
    for exhibit in dataset.exhibits:
        id = AS_PRINTED.get(exhibit.id, exhibit.id)
        is_table = id.partition("/")[0] in PAPERS and exhibit.kind == "table" and exhibit.was_drawn
        cells = exhibit.compare() if is_table else None
        if cells is None:
            continue
        column = next((name for name in METHODS if name in cells), "")
        for row in cells.dropna(subset=["ours", "printed"]).astype("object").fillna("").to_dict("records"):
            place = "printed_setting" if "printed_setting" in row else "setting"
            setting, method, metric = (str(row.get(name, "")) for name in (place, column, "metric"))
            parts = [setting_words(part) for part in setting.split(";") if part]
            named = [text_of(method, exhibit.titles.get(column, {}))] if method else []
            what = ", ".join([text_of(metric, {}), *named, *parts])
            number = {"exhibit": id, "key": f"{setting} {method} {metric}", "what": what}
            unit = " min" * (row.get("unit") == "minutes")
            cell = {"printed": f"{row['printed_cell']}{unit}", "ours": f"{row['ours_cell']}{unit}"}
            found.append(number | cell | {"run": dataset.title, "draws": exhibit.caption[-1]})
    return found


def setting_words(part: str) -> str:
    """Return ``10 classes`` of ``classes=10``, ``codebook 10k`` of ``codebook=10k`` and ``Var10`` of ``var10``."""
    name, _, value = part.replace("_", " ").partition("=")
    return f"{value} {name}" if value.isdecimal() else f"{name} {value}" if value else name[:1].upper() + name[1:]


def ledger(
    numbers: Mapping[str, Numbers],
    claims: Iterable[Mapping[str, str]],
    printed: Iterable[Mapping[str, str]],
    runs: Iterable[Mapping[str, str]],
    demo: Collection[str],
) -> pd.DataFrame:
    """Return the ledger: the printed numbers of each exhibit, then the claims of the papers.

    `numbers` has those of each data set of photographs, by `numbers_of`; `claims` are rows of results/claims.csv,
    `printed` of reference-values.csv, and `runs` of ledger.csv. `demo` names the data sets of the demo.
    """
    known = {row["exhibit"]: row for row in runs}
    rows = []
    for id, n_printed in Counter(f"{row['paper']}/{row['exhibit']}" for row in printed if row["value"]).items():
        about = known.get(id, {"run": "", "change": ""})
        label = getattr(all_exhibits().get(id), "label", "") or "Numbers in its text"
        place = {"paper": id.partition("/")[0], "place": label, "change": about["change"]}
        found: dict[str, dict[str, str]] = {}
        for dataset in (*demo, *(run for run in about["run"].split(";") if run not in demo)):
            side = "demo" if dataset in demo else "longest"
            for number in (number for number in numbers.get(dataset, ()) if number["exhibit"] == id):
                row = found.setdefault(number["key"], dict(place))
                if side not in row:  # the first run of each that has it
                    row |= {name: number[name] for name in ("what", "printed", "draws")} | {side: number["ours"]}
                    row |= {"run": number["run"]} if side == "longest" else {}
        none = f"{n_printed} printed numbers, none of them run on photographs"
        rows += list(found.values()) or [{**place, "what": none}]
    of_claims: dict[str, dict[str, str]] = {}
    for claim in claims:
        about = {"paper": claim["paper"], "place": claim["place"], "what": claim["claim"], "draws": claim["data"]}
        row = of_claims.setdefault(claim["id"], about | {"change": known.get(claim["exhibit"], {}).get("change", "")})
        side = "demo" if claim["dataset"] in demo else "longest"
        if side not in row:
            row |= {side: claim["verdict"]} | ({"run": claim["title"]} if side == "longest" else {})
    rows = sorted([*rows, *of_claims.values()], key=lambda row: [*PAPERS].index(row["paper"]))
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype=str).fillna("")


def numbers_at_hand(results: Results, kept: Iterable[Mapping[str, Any]]) -> dict[str, Numbers]:
    """Return the numbers of each data set of photographs: those in the results, else those of a kept run."""
    found: dict[str, Numbers] = {run["dataset"]: run.get("numbers", ()) for run in kept if not run["synthetic"]}
    return found | {dataset.id: numbers_of(dataset) for dataset in results.datasets if not dataset.synthetic}
