"""The entries of exhibits.yaml: what each is called, in which order they stand, and that what draws them is there."""

from pkgutil import resolve_name

import pytest

from lookalike.exhibits.registry import Exhibit, exhibits_of
from lookalike.studies.rooms import all_exhibits


def test_what_an_entry_names_is_a_function_of_its_kind_and_no_two_rooms_have_one_id():
    everything = list(all_exhibits().values())
    drawn = {exhibit.id: resolve_name(exhibit.function) for exhibit in everything if exhibit.function}
    assert len(drawn) > 20
    assert {draw.__annotations__["return"] for draw in drawn.values()} == {"Drawn"}
    assert len(everything) == sum(len(exhibits_of(room)) for room in {exhibit.study for exhibit in everything})


def test_exhibits_stand_in_the_papers_order_with_tables_first_and_have_its_labels():
    names = ["fig10", "table2", "fig3b", "text", "fig3a", "table10"]
    found = [Exhibit(id=f"oasis-jmlr-2010/{name}", study="toy", title="") for name in names]
    placed = [exhibit.label for exhibit in sorted(found, key=lambda exhibit: exhibit.place)]
    assert placed == ["Table 2", "Table 10", "Figure 3A", "Figure 3B", "Figure 10", ""]


def test_a_misspelt_key_is_refused():
    with pytest.raises(ValueError, match="unknown key 'captoin'"):
        Exhibit(id="learning/one", study="toy", title="", captoin="It is.")
