"""Rules on the papers' claims about the web (JMLR 2.3 and 5.2, NIPS 4.1); precision is within two standard errors."""

from __future__ import annotations

import math

from lookalike.exhibits.verdicts import OPEN, Finding, triplets_seen, verdict_of, within
from lookalike.studies.metrics import rows_in
from lookalike.studies.web.numbers import GAIN, IRRELEVANT
from lookalike.studies.web.runtime_figure import OASIS, UNITS, growth, measured_times
from lookalike.studies.web.study import WebStudy


def time_grows(study: WebStudy, learner: str, low: float, high: float = math.inf, than: str = "") -> Finding:
    """Holds if time grows by a power of the number of images that lies within bounds: 0.75 to 1.25 for linear growth.

    Where a claim compares two learners, the bounds are of the difference of their powers.
    """
    measured = measured_times(study.table("runtime"))
    laws = {name: growth(measured, name) for name in (learner, than) if name}
    grown = [f"{name}: time ~ {UNITS[name]}^{law} (95% interval, {law.n_sizes} sizes)" if law
            else f"{name}: fewer than three sizes, so no fit" for name, law in laws.items()]  # fmt: skip
    ends = measured[measured["series"] == OASIS].sort_values("n_images")[["n_images", "steps", "seconds"]]
    # what decides stands first
    seen = [triplets_seen(f"{row.n_images:,} images", row.steps, row.seconds) for row in rows_in(ends)]
    told = "; ".join([", ".join(grown), *seen])
    known = [law for law in laws.values() if law]
    if len(known) < len(laws):
        return Finding(OPEN, told)
    power = known[0].exponent - (known[1].exponent if than else 0)
    half_width = math.hypot(*(law.half_width for law in known))
    return Finding(verdict_of(within([(power - half_width, power + half_width)], low, high)), told)


def any_negative_will_do(study: WebStudy, k: int, margin: float) -> Finding:
    """Holds if negatives from all images cost less precision at top k than the claim's margin; fails if more."""
    gain, error = study.precision_at(IRRELEVANT, k, GAIN)
    low, high = gain - 2 * error, gain + 2 * error
    told = f"top {k}: {gain:+.2f} [{low:+.2f}, {high:+.2f}] points, negatives from all images minus irrelevant ones"
    return Finding(verdict_of(within([(low, high)], -margin, math.inf)), told)
