"""A table, a figure and a gallery that need some escaping, for tests of how they are drawn and written."""

import numpy as np
import pandas as pd

from lookalike.exhibits.model import Axis, Figure, Gallery, Line, Panel, Series, Table, Tile
from lookalike.exhibits.style import Look


def table(study):
    """Cells of a toy table."""
    frame = pd.DataFrame({"subset": ["a", "a", "b", "b"], "metric": "map", "method": ["oasis", "lmnn"] * 2})
    frame = frame.assign(ours=[1.0, 2, 3, 4], ours_cell=["1 | x", "2", "3", "4 & 5"])
    frame = frame.assign(printed_cell=["9", "", "", ""])
    titles = {"metric": {"map": "mAP_%"}, "method": {"oasis": "OASIS"}, "subset": {"a": "Ten", "b": "Twenty"}}
    return Table(frame, rows=("metric",), columns="method", blocks="subset", titles=titles, notes=("A note.",))


def figure(study):
    """Curves of a toy figure."""
    x = np.arange(1.0, 31.0)
    frame = pd.DataFrame({"series": np.repeat(["oasis", "printed"], [30, 30]), "k": np.tile(x, 2), "extra": "kept"})
    frame["p"] = 1 / frame["k"]
    frame["low"], frame["high"] = frame["p"] * 0.9, frame["p"] * 1.1
    series = (
        Series("OASIS", {"series": "oasis"}, "k", "p", Look("#D55E00", "o"), "low", "high"),
        Series("printed", {"series": "printed"}, "k", "p", Look("#000000", "s"), kind="points", hollow=True),
    )
    lines = (Line("chance", 0.1, Look("#000000", "", "--"), label="0.10"), Line("stop", 7, Look("#000", "", ":"), True))
    panel = Panel("one", Axis("k", "log", ticks=((1.0, "one"), (10.0, "ten"))), Axis("P@k", low=0), series, lines)
    return Figure(frame, (panel, Panel("two", Axis(), Axis(), empty="nothing here")))


def gallery(study):
    """Images of a toy gallery."""
    image = np.zeros((4, 8, 3), dtype=np.uint8)
    return Gallery(pd.DataFrame({"image": [1]}), ((Tile(image, "a word"), Tile(None, "no image")),), ("row",))
