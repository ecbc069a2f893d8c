"""What the exhibits of the fine-grained study ask of it: titles, levels with intervals, limits and notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import SEEDS, TRAINING, Contrast
from lookalike.exhibits.model import Drawn, Figure, Table
from lookalike.exhibits.printed import bracketed
from lookalike.exhibits.registry import Condition
from lookalike.exhibits.results import with_parts
from lookalike.studies.finegrained.results import COUNTED, FINISHED
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
    IN_ORDER,
    OASIS,
    OASIS_ON_TOP,
    PAPER,
    PER_TRIPLET,
    PRECISION,
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
from lookalike.studies.metrics import rows_in, select

if TYPE_CHECKING:
    from lookalike.exhibits.declared import Declared

FORMS = {PRECISION: ".1f", SCORE: ",.0f"}
"""Metric of the main numbers to the format of its cells."""
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
ORIGINS = {SYNTHETIC: "images and ratings made by code", BY_CLASS: "photographs, whose triplets a machine rated"}
"""Kind of data to where it comes from; any other is rated by people."""


class FinegrainedStudy(FinegrainedSection):
    """The fine-grained study (Deep Ranking, CVPR 2014) on one data set."""

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture: that no people rated the triplets."""
        return {SYNTHETIC: "Synthetic images and ratings", BY_CLASS: "Triplets rated by machine"}.get(self.kind, "")

    def title_of(self, method: str) -> str:
        """Name of a system as the paper prints it."""
        return OTHER_SHARES if method in ROLES else system_title(method)

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        if column == "triplets":
            return {"all": "all triplets"}
        if column == "metric":
            score = f"Score-{self.k}"
            return {PRECISION: "Precision (%)", SCORE: score, PER_TRIPLET: f"{score} a triplet (%)"}
        return {system: self.title_of(system) for system in IN_ORDER}

    def measures(self, declared: Declared) -> bool:
        """Tell by its settings whether the study runs a system that an exhibit shows."""
        return any(map(self.was_run, self.methods_named(declared.shows)))

    def setting_title(self, setting: str) -> str:
        """Name the one part that it has."""
        return "all triplets" if setting == ALL else setting

    @cached_property
    def printed_numbers(self) -> pd.DataFrame:
        """The paper's numbers."""
        return self.printed[self.printed["paper"].eq(PAPER) & self.printed["value"].notna()]

    def printed_results(self) -> pd.DataFrame:
        """Return the paper's numbers of the exhibit at hand, which are of all its triplets."""
        return with_parts(self.printed_in().assign(setting=ALL))

    @property
    def undecided(self) -> str:
        """Sentence on networks that were trained too briefly or too seldom; "" without any."""
        networks, parts = [system for system in (CONVNET, SINGLE, DEEP) if system in self.measured], []
        for limit, does in ((TRAINING, "still learned when training ended"), (SEEDS, "had fewer than three seeds")):
            limited = [self.title_of(system) for system in networks if limit in self.limits_of(system)]
            parts += [f"{'all networks' if len(limited) == 3 else ' and '.join(limited)} {does}"] if limited else []
        limits = "; ".join(parts)
        does_not = "That does not decide how they compare with other systems."
        return f"{limits[:1].upper()}{limits[1:]}. {does_not}" if parts else ""

    def limits_of(self, system: str) -> list[str]:
        """Return what keeps the numbers of a network from deciding: too few seeds, or a training that was cut short."""
        if not is_network(system):
            return []
        limits = [SEEDS] if self.n_seeds(system) < LEAST_SEEDS else []
        # what learns on top of a network is no further than that
        learned = [SINGLE] if system in (OASIS_ON_TOP, EMBEDDING_ON_TOP) else []
        return limits + ([TRAINING] if self.unfinished & {system, *learned} else [])

    @cached_property
    def unfinished(self) -> set[str]:
        """Networks of which a training took all its steps while held-out images still improved."""
        ends = select(self.results, metric=FINISHED)
        return set(ends.loc[ends["value"] == 0, "method"])

    @cached_property
    def _seeds_of(self) -> Mapping[str, int]:
        """System to the number of its trainings."""
        if not self.has("results"):
            return {}
        sizes = select(self.results, metric=PRECISION, setting=ALL).groupby("method").size()
        return {str(system): int(n) for system, n in sizes.items()}

    @property
    def measured(self) -> set[str]:
        """Systems that have a number."""
        return set(self._seeds_of)

    def n_seeds(self, system: str) -> int:
        """Return how many trainings a system has; 1 of what is no network."""
        return self._seeds_of.get(system, 1)

    def level(self, system: str, metric: str) -> Contrast:
        """Return a number of a system with its interval; one without a number where it was not measured."""
        rows = self.contrasts.intervals(ALL, metric, system) if self.has("contrasts") else []
        return rows[0] if rows else Contrast(ALL, metric, system, "")

    def cells(self, system: str) -> list[str]:
        """Write the main numbers of a system."""
        levels = {metric: self.level(system, metric) for metric in FORMS}
        return [bracketed(row.mean, row.low, row.high, FORMS[metric]) for metric, row in levels.items()]

    def counted(self, metric: str) -> int:
        """Return how many triplets or query images were measured, or the median size of their pools; 0 without."""
        rows = select(self.results, metric=metric, setting=ALL) if self.has("results") else pd.DataFrame()
        return int(rows["value"].iloc[0]) if len(rows) else 0

    def about(self, system: str) -> str:
        """Return what a system is; of networks also how far from the paper's, "" where its name says all."""
        # the networks' own room, of which nothing is imported before it is asked for
        from lookalike.deep.configuration import PAPER as LARGE
        from lookalike.deep.configuration import SMALL

        about, given = ABOUT.get(system, ""), self.networks.pretraining
        if system == GOLDEN and self.surroundings.no_training:
            return "a learned weighted sum of distances of hand-crafted features"
        if system == CONVNET and not (given.images or given.weights):
            about += ". It saw the training images alone; the paper's saw ImageNet"
        if system == DEEP and self.networks.size == "small":
            own, paper = (f"{size.input_size} x {size.input_size} pixels" for size in (SMALL, LARGE))
            about += f". It sees {own} and gives {SMALL.width} numbers; the paper's {paper} and {LARGE.width:,}"
        return about

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

    def why_not_run(self, system: str) -> str:
        """``not run: do X`` for one system of which there is no number; "" where it could be run."""
        if self.not_run or system in self.systems():
            return self.not_run
        return self.surroundings.no_networks * is_network(system) or self.surroundings.no_training * is_learned(system)

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many triplets, and what brackets or bars are."""
        n_triplets, n_queries, _ = map(self.counted, COUNTED)
        size = f", {n_triplets:,} triplets of {n_queries:,} query images" if n_triplets else ""
        data = f"Data: {self.title} ({ORIGINS.get(self.kind, 'rated by people')}){size}"
        if drawn is None or not {"low", "high"} <= set(drawn.frame):
            return f"{data}."
        what = "brackets" if isinstance(drawn, Table) else "bars and bands"
        return f"{data}; {what}: 95% bootstrap intervals over {self.resampled}."

    @property
    def resampled(self) -> str:
        """Return what bootstraps sample."""
        several = any(n > 1 for n in self._seeds_of.values())
        return "query images, and over seeds of networks" if several else "query images"

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Say what is ranked, what systems are, and which of them were not run."""
        if self.not_run or drawn is None:
            return []
        column = next((name for name in ("method", "system") if name in drawn.frame), "")
        systems = set(drawn.frame[column]) if column else set()
        notes = self._measured_notes(systems) if isinstance(drawn, (Table, Figure)) else []
        notes += [f"{self.title_of(system)}: {self.about(system)}." for system in ABOUT if system in systems]
        return [*notes, *self.not_run_notes(systems - self.measured)]

    def _measured_notes(self, systems: set[str]) -> list[str]:
        """Say what scores rank, what made the relevance, and how often networks were trained."""
        if not systems:
            return []
        pool, notes = self.counted("pool"), []
        share = f", of which the top {self.k} are {self.k / pool:.0%}" if self.k < pool else ""
        notes += [f"Scores rank {pool:,} images in the median{share}; the paper ranks 1,000."] if pool else []
        if GOLDEN in systems & self.measured:
            learned = "ratings that are not evaluated" if self.golden.ratings else "the same relevance as the others"
            notes.append(f"{self.title_of(GOLDEN)} learned from {learned}; in the paper they made the relevance.")
        n = max((self.n_seeds(system) for system in systems & self.measured if is_network(system)), default=0)
        if n == 1:
            notes.append("Each network was trained once; no interval contains the chance in that.")
        elif n:
            notes.append(f"Each network was trained from {n} seeds; intervals contain the chance in that.")
        return notes

    def not_run_notes(self, systems: Iterable[str]) -> list[str]:
        """``ConvNet, DeepRanking: not run: do X.``, systems with one reason together; nothing where all were run."""
        reasons: dict[str, list[str]] = {}
        for system in ordered_systems(systems):
            if why := self.why_not_run(system):
                reasons.setdefault(why, []).append(self.title_of(system))
        return [f"{', '.join(titles)}: {why}." for why, titles in reasons.items()]

    @property
    def size(self) -> str:
        """Triplets and query images that were measured."""
        n_triplets, n_queries, _ = map(self.counted, COUNTED)
        return f"{n_triplets:,} triplets of {n_queries:,} query images" if n_triplets else ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Return precision and score of the main systems with their intervals, and why others were not run."""
        known = {feature: self.level(feature, PRECISION).mean for feature in FEATURES if feature in self.measured}
        main = (max(known, key=known.__getitem__, default=FEATURES[0]), OASIS, GOLDEN, CONVNET, SINGLE, DEEP)
        rows = {system: self.cells(system) for system in main if system in self.measured}
        origin = ORIGINS.get(self.kind, "rated by people")
        note = f"{self.size or 'No triplets'}, {origin}. Brackets: 95% bootstrap intervals over {self.resampled}."
        about = "triplets of images, rated (Deep Ranking, CVPR 2014, Table 1)"
        notes = [note, *self.not_run_notes(set(main) - self.measured)]
        return about, ["precision (%)", f"score-{self.k}"], rows, notes

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
