"""The studies by name, and the facts of workflow/resources that each is given."""

import pytest
from contract import ROOT

from lookalike.core.errors import LookalikeError
from lookalike.core.files import read_table
from lookalike.exhibits.claims import claims_of
from lookalike.exhibits.registry import ROOMS
from lookalike.studies import rooms

RESOURCES = ROOT / "workflow" / "resources"


def test_every_study_has_its_own_exhibits_printed_numbers_and_claims(settings):
    everything = rooms.all_exhibits()
    assert set(everything) == {id for room in ROOMS for id in rooms.exhibits_of(room)}
    assert {exhibit.study for exhibit in everything.values()} == set(ROOMS)
    printed = read_table(RESOURCES / "reference-values.csv")
    # what the text of the NIPS paper prints stands in its table
    assert set(printed["paper"] + "/" + printed["exhibit"]) - set(everything) == {"oasis-nips-2009/text"}
    claims = [row["id"] for room in ROOMS for row in rooms.claim_rows(RESOURCES / "claims.csv", room)]
    assert len(claims) == len(set(claims)) == len((RESOURCES / "claims.csv").read_text().splitlines()) - 1
    asked = [
        part
        for room in ROOMS
        for claim in claims_of(rooms.claim_rows(RESOURCES / "claims.csv", room))
        for part in claim.contrasts
    ]
    assert not [part for part in asked if "|" in part.metric or part.metric != part.metric.strip()]
    rows = rooms.printed_rows(RESOURCES / "reference-values.csv", "human")
    assert {(row["paper"], row["exhibit"]) for row in rows} >= {("oasis-jmlr-2010", "text")}
    assert not any(row["exhibit"] == "table4" for row in rows)
    study = settings.human["demo"].finished({"ranks": "ranks.npz"}, rows)
    assert (study.dataset, study.has("ranks"), len(study.printed)) == ("demo", True, len(rows))
    # a paper is drawn from the studies that print it
    drawn = settings.exhibits_of("demo", "oasis-nips-2009")
    names = {room: [exhibit.name for exhibit in exhibits] for room, exhibits in drawn.items()}
    assert names == {"category": [], "human": ["table1", "fig1a"]}
    (file, *_) = rooms.exhibit_paths("demo", drawn["human"])
    assert file == "results/demo/exhibits/oasis-nips-2009/table1.csv"


HEADER = "paper,exhibit,dataset,setting,method,metric,value,spread,unit,note\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("claims.csv", '""low"": ', '""low"" ', "Expecting"),
        ("reference-values.csv", ",40,", ",forty,", "forty"),
        ("reference-values.csv", None, "", "is empty"),
        ("reference-values.csv", None, f"{HEADER}a,b\n", "line 2 has 2 fields, the header has 10"),
    ],
)
def test_a_damaged_table_of_facts_is_one_sentence(tmp_path, name, old, new, why):
    text = (RESOURCES / name).read_text(encoding="utf-8")
    assert old is None or old in text
    spoilt = new if old is None else text.replace(old, new, 1)
    (tmp_path / name).write_text(spoilt, encoding="utf-8")
    read = rooms.claim_rows if name == "claims.csv" else rooms.printed_rows
    with pytest.raises(LookalikeError, match=f"{name} is damaged .*{why}.*: put the project's own file back") as caught:
        read(tmp_path / name, "category")
    assert "\n" not in str(caught.value)
