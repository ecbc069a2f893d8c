"""Rules on the papers' claims about the web (JMLR 2.3 and 5.2, NIPS 4.1); precision is within two standard errors."""

from __future__ import annotations

import math

from lookalike.exhibits.verdicts import OPEN, Finding, rule, triplets_seen, verdict_of, within
from lookalike.studies.metrics import rows_in
from lookalike.studies.web.numbers import GAIN, IRRELEVANT
from lookalike.studies.web.runtime_figure import OASIS, UNITS, growth, measured_times
from lookalike.studies.web.study import WebStudy


@rule
def time_grows(study: WebStudy, learner: str, low: float, high: float = math.inf, than: str = "") -> Finding:
    """The power of the number of images by which time grows, or its excess over another learner's, lies in bounds."""
    measured = measured_times(study.table("runtime"))
    laws = {name: growth(measured, name) for name in (learner, than) if name}
    told = [f"{name}: ({UNITS[name]})^{law} over {law.n_sizes} sizes" if law else f"{name}: too few sizes to the end"
            for name, law in laws.items()]  # fmt: skip
    ends = measured[measured["series"] == OASIS].sort_values("n_images")[["n_images", "steps", "seconds"]]
    told += [triplets_seen(f"{row.n_images:,} images", row.steps, row.seconds) for row in rows_in(ends)]
    known = [law for law in laws.values() if law]
    if len(known) < len(laws):
        return Finding(OPEN, ", ".join(told))
    power = known[0].exponent - (known[1].exponent if than else 0)
    half_width = math.hypot(*(law.half_width for law in known))
    return Finding(verdict_of(within([(power - half_width, power + half_width)], low, high)), ", ".join(told))


@rule
def log_misses_most(study: WebStudy, k: int, times: float) -> Finding:
    """Precision at top k by latent topics, which stand for raters, is at least a multiple of that by the log."""
    (topic, error), (log, of_log) = (study.precision_at("oasis", k, metric) for metric in ("topic_p@k", "p@k"))
    low = (topic - 2 * error) / (log + 2 * of_log)
    high = (topic + 2 * error) / max(log - 2 * of_log, 1e-9)
    told = f"top {k}: {topic:.1f}% by topics, {log:.1f}% by the log, {topic / log:.1f} times [{low:.1f}, {high:.1f}]"
    return Finding(verdict_of(within([(low, high)], times, math.inf)), told)


@rule
def any_negative_will_do(study: WebStudy, k: int, margin: float) -> Finding:
    """Precision at top k with negatives from all images is at most a margin below that with irrelevant ones alone."""
    gain, error = study.precision_at(IRRELEVANT, k, GAIN)
    low, high = gain - 2 * error, gain + 2 * error
    told = f"top {k}: {gain:+.2f} [{low:+.2f}, {high:+.2f}] points with negatives from all images"
    return Finding(verdict_of(within([(low, high)], -margin, math.inf)), told)
