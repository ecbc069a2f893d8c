"""The registry: what a decorated function becomes."""

import pytest

from lookalike.exhibits import registry
from lookalike.exhibits.registry import Exhibit, exhibit, exhibits_of


@pytest.fixture
def toy_room(monkeypatch):
    """An empty registry, and a decorator for functions of the room `toy`."""
    monkeypatch.setattr(registry, "_FOUND", {})

    def make(*ids, returns="Table", module="lookalike.studies.toy.exhibits", **arguments):
        def function(study):
            """One of two. Sentences."""

        function.__module__, function.__annotations__["return"] = module, returns
        return exhibit(*ids, title="A title", **arguments)(function)

    return make


def test_twins_share_a_function_and_come_in_the_order_of_the_file_where_the_settings_have_them(toy_room):
    toy_room("oasis-jmlr-2010/fig6", "oasis-2009-draft/fig4", returns="Figure", needs=("metrics",))
    toy_room("learning/rules", when=lambda settings: bool(settings["claims"]))
    first, twin, last = exhibits_of("toy").values()
    assert [exhibit.when({"claims": []}) for exhibit in (first, twin, last)] == [True, True, False]
    assert first.draw is twin.draw
    assert (twin.label, twin.kind, twin.needs) == ("Figure 4", "figure", ("metrics",))
    assert (last.label, last.caption) == ("", "One of two. Sentences.")


def test_exhibits_stand_in_the_papers_order_with_tables_first_and_have_its_labels():
    names = ["fig10", "table2", "fig3b", "text", "fig3a", "table10"]
    found = [Exhibit(f"oasis-jmlr-2010/{name}", "toy", "", "table", lambda study: None) for name in names]
    placed = [exhibit.label for exhibit in sorted(found, key=lambda exhibit: exhibit.place)]
    assert placed == ["Table 2", "Table 10", "Figure 3A", "Figure 3B", "Figure 10", ""]


def test_what_returns_no_exhibit_or_takes_a_name_twice_is_refused(toy_room):
    with pytest.raises(ValueError, match="exhibit is one of"):
        toy_room("learning/none", returns="int")
    toy_room("learning/rules")
    with pytest.raises(ValueError, match="two exhibits"):
        toy_room("learning/rules", module="lookalike.studies.other.exhibits")
