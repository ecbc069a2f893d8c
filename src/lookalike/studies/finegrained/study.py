"""What the exhibits of the fine-grained study ask; print agrees where it lies within our bootstrap's interval."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import pandas as pd

from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import SEEDS, TRAINING, Contrast
from lookalike.exhibits.model import Drawn, Figure, Table
from lookalike.exhibits.printed import MISSING, plus_minus
from lookalike.exhibits.registry import Condition
from lookalike.studies.finegrained.numbers import COUNTS, FINISHED
from lookalike.studies.finegrained.section import FinegrainedSection
from lookalike.studies.finegrained.systems import (
    ALL,
    BY_CLASS,
    CONVNET,
    DEEP,
    EMBEDDED,
    EMBEDDING_ON_TOP,
    FEATURES,
    GOLDEN,
    OASIS,
    OASIS_ON_TOP,
    PAPER,
    PAPER_K,
    PER_TRIPLET,
    PRECISION,
    REAL,
    SCORE,
    SINGLE,
    SYNTHETIC,
    is_learned,
    is_network,
    ordered_systems,
    sampled_share,
    system_title,
    weighted_systems,
)
from lookalike.studies.metrics import rows_in

FORMS = {PRECISION: ".1f", SCORE: ",.0f", PER_TRIPLET: ".1f"}
"""Metric to the format of its cells; the paper prints the first two."""
PAPER_TRIPLETS, PAPER_POOL = 14_000, 1_000
"""About how many triplets the paper rates (section 6.2), and images of a text query that it ranks (section 6.3)."""
RELEASE = "public release"
"""What stands for a paper in rows of rated-triplets.csv."""
LEAST_TRIPLETS = 1_000
"""With fewer, an interval of precision spans several points, in which nearly anything agrees."""
ALIKE = 1.1
"""Up to this many times the paper's number of triplets, or of images ranked, a count of triplets is about the same."""
ROLES = ("largest share", "smallest share")
"""Names in claims.csv of networks by their share of out-of-class negatives."""
OTHER_SHARES = "networks of several shares of out-of-class negatives"
LEAST_SEEDS = 3
"""With fewer trainings of a network, nothing is decided about it."""
ABOUT = {
    EMBEDDED: "a short code of all hand-crafted features",
    OASIS: "learned from triplets on L1HashKPCA",
    GOLDEN: "a learned weighted sum of distances: of hand-crafted features, and of embeddings learned from categories",
    CONVNET: "a network that learned to classify images, and not to rank them",
    SINGLE: "the ConvNet, learning on from triplets",
    DEEP: "a multiscale network, which sees an image at three sizes and learns from triplets",
}
MADE = {SYNTHETIC: "images and ratings made by code", BY_CLASS: "photographs, whose triplets a machine rated"}
NOT_LIKE_PRINT = {SYNTHETIC: "synthetic images and ratings", BY_CLASS: "other images, rated by machine"}
"""Kind of data to why its numbers are not to be held against the paper's."""
SOURCES = {SYNTHETIC: "synthetic", BY_CLASS: "rated by machine", REAL: "rated by people"}


class Measured(NamedTuple):
    """One number of a system with its 95% interval, and what it was counted over."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n_triplets: int = 0
    n_queries: int = 0
    n_ties: int = 0
    median_pool: int = 0
    n_in_top: int = 0
    n_seeds: int = 1


class Difference(NamedTuple):
    """One system minus another, with its 95% interval."""

    value: float
    low: float
    high: float
    p: float
    """Two-sided p-value of no difference."""


class FinegrainedStudy(FinegrainedSection):
    """The fine-grained study (Deep Ranking, CVPR 2014) on one data set."""

    @property
    def k(self) -> int:
        """First images that scores count."""
        return self.score.k

    @property
    def kind(self) -> str:
        """Kind of data: rated by people, synthetic, or photographs whose triplets a machine rated."""
        return self.data_set.kind

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture: that no people rated the triplets."""
        return {SYNTHETIC: "Synthetic images and ratings", BY_CLASS: "Triplets rated by machine"}.get(self.kind, "")

    def title_of(self, method: str) -> str:
        """Name of a system as the paper prints it."""
        return OTHER_SHARES if method in ROLES else system_title(method)

    @property
    def undecided(self) -> str:
        """Sentences on networks that were trained too briefly or too seldom, or became worse by it; "" without any."""
        networks = [system for system in (CONVNET, SINGLE, DEEP) if system in self.measured]
        parts = []
        for limit, does in ((TRAINING, "still learned when training ended"), (SEEDS, "had fewer than three seeds")):
            limited = [self.title_of(system) for system in networks if limit in self.limits_of(system)]
            parts += [f"{'all networks' if len(limited) == 3 else ' and '.join(limited)} {does}"] if limited else []
        limits = "; ".join(parts)
        sentence = f"{limits[:1].upper()}{limits[1:]}. That does not decide how they compare with other systems."
        return " ".join([*([sentence] if parts else []), *self.losses()])

    def losses(self) -> list[str]:
        """Say on which negatives learning to rank made a network worse than the classifier that it started from."""
        start, deep, sentences = self.title_of(CONVNET), self.title_of(DEEP), []
        for system in (SINGLE, DEEP):
            gaps = [(kind, self.on_kind(system, CONVNET, kind)) for kind in self.kinds]
            # what limits a network limits this too
            sure = [(kind, rows) for kind, rows in gaps if rows and rows[0].high < 0 and not rows[0].limits]
            lost = [f"{_points(rows[0])} on {kind} negatives" for kind, rows in sure]
            title = self.title_of(system)
            sentences += [f"Learning to rank cost {title} precision beside {start}: {', '.join(lost)}."] if lost else []
            ahead = [(kind, self.on_kind(DEEP, system, kind)) for kind in self.kinds if lost and system != DEEP]
            leads = [f"{_points(rows[0])} on {kind} negatives" for kind, rows in ahead if rows]
            sentences += [f"The lead of {deep} over {title} contains this: {', '.join(leads)}."] if leads else []
        return sentences

    def on_kind(self, first: str, second: str, kind: str) -> list[Contrast]:
        """Return by how much one system is more precise than another on negatives of a kind."""
        return self.contrasts.intervals(ALL, f"{PRECISION}, {kind} negatives", first, second)

    @property
    def kinds(self) -> list[str]:
        """Kinds of negatives of which there are numbers."""
        return list(dict.fromkeys(subset for _, subset, metric in self.values if subset != ALL and metric == PRECISION))

    def limits_of(self, system: str) -> list[str]:
        """Return what keeps the numbers of a network from deciding: too few seeds, or a training that was cut short."""
        if not is_network(system):
            return []
        limits = [SEEDS] if self.value(system, PRECISION).n_seeds < LEAST_SEEDS else []
        # what learns on top of a network is no further than that
        learned = [SINGLE] if system in (OASIS_ON_TOP, EMBEDDING_ON_TOP) else []
        return limits + ([TRAINING] if self.unfinished & {system, *learned} else [])

    @cached_property
    def unfinished(self) -> set[str]:
        """Networks of which a training took all its steps while held-out images still improved."""
        ends = self.numbers[self.numbers["metric"] == FINISHED]
        return set(ends.loc[ends["value"] == 0, "method"])

    def about(self, system: str) -> str:
        """Return what a system is; of networks also how far from the paper's, "" where its name says all."""
        # the networks' own room, of which nothing is imported before it is asked for
        from lookalike.deep.configuration import PAPER as LARGE
        from lookalike.deep.configuration import SMALL

        about, given = ABOUT.get(system, ""), self.networks.pretraining
        if system == GOLDEN and self.surroundings.no_training:
            return "a learned weighted sum of the distances of hand-crafted features"
        if system == CONVNET and not (given.images or given.weights):
            return f"{about}. It saw the training images alone; the paper's saw ImageNet"
        if system == DEEP and self.networks.size == "small":
            own, theirs = (f"{size.input_size} x {size.input_size} pixels" for size in (SMALL, LARGE))
            return f"{about}. It sees {own} and gives {SMALL.width} numbers; the paper's {theirs} and {LARGE.width:,}"
        fits = self.table("fits").to_dict("records") if system == DEEP and self.paths("fits") else []
        fit = next((row for row in fits if row["system"] == system), {})
        if isinstance(fit.get("device"), str):
            weights = f"{fit['n_parameters'] / 1e6:.0f} million weights, in the layout of the paper's"
            return f"{about}. It has {weights}, and was trained on {fit['device']}"
        return about

    def trainings_notes(self, systems: Iterable[str]) -> list[str]:
        """Say how often networks among some systems were trained; nothing without networks."""
        n = {self.value(system, PRECISION).n_seeds for system in systems if is_network(system)}
        if not n:
            return []
        if max(n) == 1:
            return ["Each network was trained once; no interval contains the chance in that."]
        times = f"Each network was trained {max(n)} times from other seeds."
        return [f"{times} Numbers are means, and intervals contain the chance in that."]

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """The study's numbers (`lookalike.studies.metrics`), scores called ``score@30`` whatever k is."""
        table = self.table("metrics")
        return table.assign(metric=table["metric"].str.replace(r"^score@\d+", SCORE, regex=True))

    @cached_property
    def values(self) -> Mapping[tuple[str, str, str], Measured]:
        """Numbers by system, subset and metric; empty where nothing was run."""
        if not self.has("metrics"):
            return {}
        rows = self.numbers[self.numbers["x"].isna() & self.numbers["fold"].eq(0)]
        counts = rows.pivot(index=["method", "subset"], columns="metric", values="value").reindex(columns=list(COUNTS))
        counted: dict[Any, Any] = counts.fillna(0).round().astype(int).to_dict("index")
        return {
            (row.method, row.subset, row.metric): Measured(
                row.value, row.low, row.high, **counted[row.method, row.subset]
            )
            for row in rows_in(rows[rows["metric"].isin(list(FORMS))])
        }

    def value(self, system: str, metric: str, subset: str = ALL) -> Measured:
        """Return a number of a system; an empty one where it was not measured."""
        return self.values.get((system, subset, metric), Measured())

    @cached_property
    def measured(self) -> set[str]:
        """Systems that have a number."""
        return {system for system, _, _ in self.values}

    @cached_property
    def differences(self) -> Mapping[tuple[str, str, str, str], Difference]:
        """Paired differences by system a, system b, subset and metric; each pair in one order."""
        if not self.has("paired"):
            return {}
        table = self.table("paired")
        names = table["metric"].str.replace(r"^score@\d+", SCORE, regex=True)
        keys = zip(table["system_a"], table["system_b"], table["subset"], names, strict=True)
        numbers = table[["difference", "low", "high", "p_value"]].itertuples(index=False)
        return {key: Difference(*found) for key, found in zip(keys, numbers, strict=True)}

    def overrated(self) -> list[str]:
        """Say which feature painted triplets overrate most, beside rated photographs and print; nothing of other data.

        It is the one that is furthest above what it reached on the public release, by the low end of its interval.
        """
        rows = self.printed[self.printed["metric"].eq(PRECISION)]
        rated, printed = (
            dict(zip(own["method"], own["value"], strict=True))
            for own in (rows[rows["paper"].eq(RELEASE)], rows[rows["paper"].eq(PAPER)])
        )
        found = {system: self.value(system, PRECISION) for system in rated if self.kind == SYNTHETIC}
        gaps = {system: own.low - rated[system] for system, own in found.items() if own.low > rated[system]}
        if not gaps:
            return []
        system = max(gaps, key=gaps.__getitem__)
        own, other = found[system].value, rated[system]
        return [
            f"Painted triplets overrate {self.title_of(system)} by {own - other:.0f} points: its precision is "
            f"{own:.1f}% here, {other:.1f}% on rated photographs (public release, our code) and "
            f"{printed[system]:.1f}% in the paper."
        ]

    def printed_study(self) -> Self:
        """Return the same study with the paper's own numbers in place of ours, which have no intervals."""
        rows = self.printed[self.printed["paper"].eq(PAPER) & self.printed["value"].notna()]
        study = copy.copy(self)
        study.values = {
            (row.method, ALL, row.metric): Measured(float(row.value), n_triplets=PAPER_TRIPLETS)
            for row in rows_in(rows)
        }
        study.measured = {system for system, _, _ in study.values}
        return study

    def scope_of(self, claim: Claim) -> Scope:
        """Return the one part that it has: all triplets, of which some metrics count a kind."""
        return Scope([ALL])

    def role(self, name: str) -> list[str]:
        """Return the systems that a name in claims.csv stands for: networks by their share of negatives."""
        shares = list(weighted_systems(self.measured, self.chosen_percent).values())
        several = shares if len(shares) > 1 else []
        roles = dict(zip(ROLES, (several[-1:], several[:1]), strict=True))
        return roles.get(name, [name])

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether a system was measured, or at least could be; networks of other shares are asked for by name."""
        is_left_out = sampled_share(method) is not None and method not in self.systems()
        return method in self.measured or not (self.why_not_run(method) or is_left_out)

    def follows_protocol(self) -> bool:
        """Tell whether the golden feature makes the relevance that networks learn from, as in the paper."""
        return bool(self.golden.ratings)

    def _largest(self, count: str) -> int:
        return max((getattr(found, count) for (_, subset, _), found in self.values.items() if subset == ALL), default=0)

    @property
    def n_triplets(self) -> int:
        """Triplets that were measured; 0 where nothing was."""
        return self._largest("n_triplets")

    @property
    def median_pool(self) -> int:
        """Median number of images that are ranked for a query."""
        return self._largest("median_pool")

    @cached_property
    def has_pool(self) -> bool:
        """Tell whether the pools are images of their own and not just those of the triplets."""
        return self.has("pool") and len(self.table("pool")) > 0 and bool((self.table("pool")["source"] == "pool").all())

    def why_not_run(self, system: str) -> str:
        """``not run: do X`` for one system of which there is no number; "" where it could be run."""
        if self.not_run or system in self.systems():
            return self.not_run
        return self.surroundings.no_networks * is_network(system) or self.surroundings.no_training * is_learned(system)

    def why_not_comparable(self, metric: str) -> str:
        """Why a number of ours is not to be held against the printed one with a verdict; "" where it is."""
        if self.kind != REAL:
            return NOT_LIKE_PRINT[self.kind]
        if metric == PRECISION:
            few = self.n_triplets < LEAST_TRIPLETS
            return f"{self.n_triplets:,} triplets, and a verdict takes {LEAST_TRIPLETS:,}" if few else ""
        if self.k != PAPER_K:
            return f"scores of the top {self.k}, the paper's of the top {PAPER_K}"
        if not self.has_pool:
            return "there is no pool/ to rank, only the images of the triplets"
        if not _about(self.median_pool, PAPER_POOL):
            return f"pools of {self.median_pool:,} images, the paper's of {PAPER_POOL:,}"
        if not _about(self.n_triplets, PAPER_TRIPLETS):
            return f"a count over {self.n_triplets:,} triplets, the paper's over about {PAPER_TRIPLETS:,}"
        return ""

    def cell(self, found: Measured, metric: str, system: str) -> str:
        """Cell of ours: ``61.8 [60.9, 62.7]``; ``not run`` where there is a reason for it, else ``-``, without one."""
        if math.isnan(found.value):
            return "not run" if self.why_not_run(system) else MISSING
        return with_interval(found, FORMS[metric])

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Which data, how many triplets, and what brackets or bars are."""
        origin = MADE.get(self.kind, "rated by people")
        n_queries = self._largest("n_queries")
        size = f", {self.n_triplets:,} triplets of {n_queries:,} query images" if self.n_triplets else ""
        if drawn is None or not {"low", "high"} <= set(drawn.frame):
            return f"Data: {self.title} ({origin}){size}."
        what = "brackets" if isinstance(drawn, Table) else "bars and bands"
        return f"Data: {self.title} ({origin}){size}; {what}: 95% bootstrap intervals over {self.resampled}."

    @property
    def resampled(self) -> str:
        """Return what bootstraps draw anew."""
        several = any(found.n_seeds > 1 for found in self.values.values())
        return "query images, and over seeds of networks" if several else "query images"

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Systems that were not run, and why numbers may not be held against print."""
        if self.not_run or drawn is None:
            return []
        notes = []
        if isinstance(drawn, (Table, Figure)) and "printed" in drawn.frame:
            reasons = dict.fromkeys(self.why_not_comparable(metric) for metric in (PRECISION, SCORE))
            notes = [f"Not comparable with the printed numbers: {why}." for why in reasons if why]
            if self.kind == REAL and any(map(is_learned, self.measured)):
                notes.append("Systems that learn did so from other images than the paper's: not comparable with it.")
        systems = set(drawn.frame["system"]) if "system" in drawn.frame else set()
        notes += [f"{self.title_of(system)}: {self.about(system)}." for system in ABOUT if system in systems]
        return [*notes, *self.not_run_notes(systems - self.measured)]

    def not_run_notes(self, systems: Iterable[str]) -> list[str]:
        """``ConvNet, DeepRanking: not run: do X.``, systems with one reason together; nothing where all were run."""
        reasons: dict[str, list[str]] = {}
        for system in ordered_systems(systems):
            why = self.why_not_run(system)
            if why:
                reasons.setdefault(why, []).append(self.title_of(system))
        return [f"{', '.join(titles)}: {why}." for why, titles in reasons.items()]

    @property
    def size(self) -> str:
        """Triplets and query images that were measured."""
        return f"{self.n_triplets:,} triplets of {self._largest('n_queries'):,} query images" if self.values else ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Precision and score of the main systems that were measured, with their intervals, and why others were not."""
        known = [feature for feature in FEATURES if feature in self.measured]
        feature = max(known, key=lambda feature: self.value(feature, PRECISION).value, default=FEATURES[0])
        main = (feature, OASIS, GOLDEN, CONVNET, SINGLE, DEEP)
        rows = {
            system: [with_interval(self.value(system, metric), FORMS[metric]) for metric in (PRECISION, SCORE)]
            for system in main
            if system in self.measured
        }
        about = "triplets of images, rated (Deep Ranking, CVPR 2014, Table 1)"
        size = self.size or "No triplets"
        note = f"{size}, {SOURCES[self.kind]}. Brackets: 95% bootstrap intervals over {self.resampled}."
        notes = [note, *self.not_run_notes(set(main) - self.measured)]
        return about, ["precision (%)", f"score-{self.k}"], rows, [*notes, *self.overrated()]

    @cached_property
    def images(self) -> dict[int, tuple[str, str]]:
        """Image id to its path below the study's folder and its category, "" where that is not known."""
        return {int(row.image_id): (str(row.path), str(row.label)) for row in rows_in(self.table("manifest"))}

    def path_of(self, image_id: int) -> Path:
        """Path of an image's file."""
        return Path(self.surroundings.folder, self.images[image_id][0])


STUDY = FinegrainedStudy


def has(*systems: str) -> Condition:
    """Tell by its settings whether a study runs one of some systems, for exhibits that show nothing without."""
    return lambda study: not set(systems).isdisjoint(study.systems())


def with_interval(found: Measured, form: str) -> str:
    """Return ``61.8 [60.9, 62.7]``, the value alone without an interval, ``-`` without a value."""
    if math.isnan(found.value) or math.isnan(found.low) or math.isnan(found.high):
        return plus_minus(found.value, math.nan, form)
    return f"{found.value:{form}} [{found.low:{form}}, {found.high:{form}}]"


def _about(ours: int, printed: int) -> bool:
    return printed / ALIKE <= ours <= printed * ALIKE


def _points(row: Contrast) -> str:
    """Write a difference with its interval: ``−11.4 points [−17.0, −4.8]``."""
    # the sentences of `exhibits.words` are not behind contrasts, which this module is
    return f"{row.mean:+.1f} points [{row.low:+.1f}, {row.high:+.1f}]".replace("-", "−")
