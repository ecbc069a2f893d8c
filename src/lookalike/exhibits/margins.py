"""Margins: by how much a paper's own method is ahead, ours beside print, as the front page shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lookalike.exhibits.contrasts import Contrast
from lookalike.exhibits.model import Margin
from lookalike.exhibits.printed import pairs_in_order

if TYPE_CHECKING:
    from lookalike.exhibits.study import Study


def margin(
    study: Study,
    rows: Sequence[Contrast],
    ours: Mapping[str, float],
    printed: Mapping[str, float],
    *,
    setting: str,
    metric: str,
    interval: str,
    kind: str = "",
    note: str = "",
) -> Margin:
    """Return the margin of all intervals of one contrast, given what every method reaches here and in print.

    `kind` says what the other method is, such as ``hand-crafted``.
    """
    row = rows[0]
    # one repeat alone has no interval over repeats
    lows, highs = (
        [end for end in ends if not math.isnan(end)]
        for ends in zip(*[(interval.low, interval.high) for interval in rows], strict=True)
    )
    first, second, in_print = row.first, row.second, first_of(printed, study)
    widest = replace(
        row,
        low=min(lows, default=math.nan),
        high=max(highs, default=math.nan),
        printed=printed.get(first, math.nan) - printed.get(second, math.nan),
    )
    return Margin(
        contrast=widest,
        setting=setting,
        metric=metric,
        method=study.title_of(first),
        other=study.title_of(second),
        kind=kind,
        interval=interval,
        levels=(ours[first], ours[second]),
        printed_levels=(printed.get(first, math.nan), printed.get(second, math.nan)),
        best=first_of(ours, study)[0],
        printed_best=in_print[0] if len(in_print) == 1 else "",
        in_order=pairs_in_order(ours, printed),
        note=note,
    )


def first_of(levels: Mapping[str, float], study: Study) -> list[str]:
    """Return the titles of the methods with the highest number; of several each."""
    known = {method: level for method, level in levels.items() if not math.isnan(level)}
    most = max(known.values(), default=math.nan)
    return [study.title_of(method) for method, level in known.items() if level == most]
