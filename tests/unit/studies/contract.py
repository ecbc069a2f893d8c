"""What holds for every exhibit of a study: all its files, its sidecar, its printed numbers, and how it is not run."""

import pandas as pd
from made_place import paint
from project import ROOT, own_settings

from lookalike.core.files import sha256_of, write_json
from lookalike.exhibits import words
from lookalike.exhibits.claims import claims_of, decide
from lookalike.exhibits.registry import exhibits_of
from lookalike.exhibits.statuses import Outcome
from lookalike.studies.rooms import claim_rows, contrasts_of, printed_rows
from lookalike.studies.settings import checked

ABSENT = "not run: put archive.tar at data/made"
HOLDS, FAILS, OPEN, NOT_RUN, _ = Outcome


def grid(**columns):
    """Return a row for every combination of the values of some columns; those of the last one change first."""
    return pd.MultiIndex.from_product(map(list, columns.values()), names=columns).to_frame(index=False)


def photographs(folder, paths, size=(32, 24)):
    """Write small images of noise below a folder; return their manifest, and the file that says where they lie."""
    for number, path in enumerate(paths):
        paint(folder / "images" / path, seed=number, size=size)
    sums = [sha256_of(folder / "images" / path) for path in paths]
    write_json({"root": str(folder / "images")}, folder / "images.json")
    columns = {"path": paths, "sha256": sums, "status": "ok", "width": size[0], "height": size[1]}
    return pd.DataFrame(columns).rename_axis("image_id").reset_index(), str(folder / "images.json")


def printed(room):
    return printed_rows(ROOT / "workflow/resources/reference-values.csv", room)


def claims(room):
    return claim_rows(ROOT / "workflow/resources/claims.csv", room)


def changed_study(room, dataset, *without, data=None, shared=(), **changes):
    """The study of the project's settings, of which some are left out or changed, and entries of `shared` sections."""
    config = own_settings()
    for section, id, entry in [(name, *own) for name, entries in dict(shared).items() for own in entries.items()]:
        config[section][id] = config[section].get(id, {}) | dict(entry)
    if changes or without:
        section = config[room][dataset] | changes | dict.fromkeys(without)
        config[room][dataset] = {key: value for key, value in section.items() if value is not None}
    described = config["datasets"][dataset] | (data or {})
    config["datasets"][dataset] = {key: value for key, value in described.items() if value is not None}
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


def ids_of(study):
    """Ids of a study's exhibits."""
    return {exhibit.id for exhibit in study.own_exhibits()}
