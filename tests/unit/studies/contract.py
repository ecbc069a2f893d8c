"""What holds for every exhibit of a study: all its files, its sidecar, its printed numbers, and how it is not run."""

from unittest import mock

import pandas as pd
from plotted import too_small
from project import ROOT, own_settings

from lookalike.core.files import read_json
from lookalike.exhibits import words
from lookalike.exhibits.claims import claims_of, decide
from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.statuses import Outcome, State
from lookalike.exhibits.writing import write_exhibits
from lookalike.report.pictures import POINT
from lookalike.studies.rooms import claim_rows, contrasts_of, printed_rows
from lookalike.studies.settings import checked

ABSENT = "not run: put archive.tar at data/made"
HOLDS, FAILS, OPEN, NOT_RUN, _ = Outcome


def printed(room):
    return printed_rows(ROOT / "workflow/resources/reference-values.csv", room)


def claims(room):
    return claim_rows(ROOT / "workflow/resources/claims.csv", room)


def changed_study(room, dataset, *without, data=None, **changes):
    """The study of the project's settings, of which some are left out or changed."""
    config = own_settings()
    if changes or without:
        section = config[room][dataset] | changes | dict.fromkeys(without)
        config[room][dataset] = {key: value for key, value in section.items() if value is not None}
    config["datasets"][dataset] |= data or {}
    return getattr(checked(config), room)[dataset]


def finished(study, tables=(), files=(), not_run=""):
    """A study whose tables are at hand, besides files, with the printed numbers and claims of its papers."""
    tables, room = dict(tables), study.room
    study.finished(dict.fromkeys(tables, "table") | dict(files), printed(room), claims(room), not_run)
    study._tables |= tables
    return study


def contrasted(study):
    """A study with its contrasts, as if a job had made them."""
    study.contrasted_by(contrasts_of(study.room, study))
    return study


def drawn(study, id):
    """An exhibit as data, and the study as it is while that is drawn."""
    exhibit = exhibits_of(study.room)[id]
    return exhibit.draw(study.drawing(exhibit)), study.drawing(exhibit)


def asked_of(room):
    """Claims by id, as claims.csv has them."""
    return {claim.id: claim for claim in claims_of(claims(room))}


def verdict_on(claim, study):
    """The outcome of a claim, and what it is told by, parts in one line."""
    found = decide(claim, study)
    return found.outcome, "; ".join(words.evidence(found, study))


SMALL = {}
"""Picture to what is too small or empty in it."""


def laid_out(canvas, stem, titles):
    """Lay a picture out without rendering it: what every renderer shares is tested with the exhibits."""
    assert all(POINT.fullmatch(title) for title in titles), "pages know no other form"
    canvas.draw_without_rendering()
    SMALL[stem] = too_small(canvas)
    for suffix in (".png", ".svg", ".pdf"):
        stem.with_name(f"{stem.name}{suffix}").write_bytes(b"laid out")


def written(room, study, folder):
    """Sidecars by id of the exhibits that a study has by its settings, every file of which has been checked."""
    exhibits, sidecars = {id: found for id, found in exhibits_of(room).items() if found.is_of(study)}, {}
    with mock.patch("lookalike.exhibits.drawing.save_figure", laid_out):
        states = {exhibit.id: exhibit.state for exhibit in write_exhibits(exhibits.values(), study, folder)}
    assert [id for id, state in states.items() if state == State.FAILED] == []
    for id, exhibit in exhibits.items():
        files = [folder / f"{id}{suffix}" for suffix in exhibit.suffixes]
        assert [file.name for file in files if not file.stat().st_size] == []
        sidecars[id] = read_json(files[-1])
        assert sidecars[id]["caption"][0] == exhibit.caption
    return sidecars


def check_exhibits(room, study, folder, *, printed):
    """Every exhibit is drawn from numbers, and those that are `printed`, and no others, have printed ones beside."""
    sidecars = written(room, study, folder)
    given = {str(path) for name in study._files for path in study.paths(name)}
    for id, sidecar in sidecars.items():
        assert sidecar["problem"] == ""
        assert bool(sidecar["sheets"]) == (sidecar["kind"] == "table")
        assert len(pd.read_csv(folder / f"{id}.csv")) > 0, id
        assert SMALL.get(folder / id, "") == "", id
        assert len(sidecar["caption"][1]) > 4, "the second sentence says which data"
        assert set(sidecar["sources"]) <= given
    assert {id for id in sidecars if n_printed(folder, id)} == set(printed)
    return sidecars


def n_printed(folder, id):
    """How many printed numbers stand beside ours in the files of an exhibit."""
    files = [file for file in (folder / f"{id}.csv", folder / f"{id}_compare.csv") if file.is_file()]
    return sum(int(table.get("printed", pd.Series()).notna().sum()) for table in map(pd.read_csv, files))


def check_not_run(room, study, folder):
    """Without its tables, an exhibit that needs one says what to do, and has all its files."""
    for id, sidecar in written(room, study, folder).items():
        if exhibits_of(room)[id].needs:
            assert (sidecar["state"], sidecar["problem"]) == (State.NOT_RUN, study.not_run)


def ids_of(study):
    """Ids of a study's exhibits."""
    return {exhibit.id for exhibit in study.own_exhibits()}
