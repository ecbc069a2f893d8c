"""Words beside points stand on nothing else."""

import numpy as np
import pandas as pd

from lookalike.exhibits.labels import on_free_sides
from lookalike.exhibits.model import Axis, Figure, Label, Line, Panel, Series
from lookalike.exhibits.style import Look


def test_labels_give_way_to_curves_points_and_each_other():
    rising = pd.DataFrame({"name": "line", "x": [1.0, 10, 100], "y": [0.0, 50, 100]})
    crowd = pd.DataFrame({"name": "points", "x": np.geomspace(1, 100, 200), "y": 50.0})
    look = Look("#000000", "o")
    line, points = (Series(kind, {"name": kind}, "x", "y", look, kind=kind) for kind in ("line", "points"))
    axes = Axis("", "log", 0.5, 200), Axis("", low=-10, high=110)
    figure = Figure(pd.concat([rising, crowd]), (Panel("", *axes, (line,)),), size=(4.0, 3.0))

    def sides(*labels, drawn=figure):
        return [(label.text, label.side) for label in on_free_sides(drawn, labels).panels[0].labels]

    # on its own side where that is free, else on another, else nowhere
    assert sides(Label(2, 80, "free", side="above")) == [("free", "above")]
    assert sides(Label(10, 50, "a word", side="right"))[0][1] not in ("right", "left")
    assert sides(Label(2, 80, "one", side="right"), Label(2, 80, "two", side="right"))[1][1] != "right"
    assert sides(Label(190, 30, "at the end", side="right")) == [("at the end", "left")]
    level = Figure(figure.frame, (Panel("", *axes, (), (Line("", 80, look),)),), size=figure.size)
    assert sides(Label(2, 73, "a word", side="above"), drawn=level)[0][1] != "above"
    marked = pd.DataFrame({"name": "points", "x": [1.0], "y": [80.0]})
    level = Figure(marked, (Panel("", *axes, (points,)),), size=figure.size)
    assert sides(Label(1, 80, "its own", side="right"), drawn=level) == [("its own", "right")]
    assert sides(Label(0.9, 75, "a word", side="above"), drawn=level)[0][1] != "above", "on another one's marker"
    both = Figure(figure.frame, (Panel("", *axes, (line, points)),), size=(4.0, 0.3))
    assert sides(Label(10, 50, "a word", side="right"), drawn=both) == []
