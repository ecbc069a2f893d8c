"""What the exhibits of the landmark study ask of it: codebooks, landmarks, draws, numbers (SOML, AAAI 2014)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from string import capwords
from typing import Any, NamedTuple, Self

import pandas as pd

from lookalike.core.settings.schema import Codebook
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import ITERATIONS, LIMITED, TIME
from lookalike.exhibits.contrasts import NO_RESULT as UNFINISHED
from lookalike.exhibits.model import Drawn, Gallery, Table
from lookalike.exhibits.printed import MISSING, STAR, Judge, plus_minus
from lookalike.exhibits.statuses import Status
from lookalike.ranking.statistics import summarise
from lookalike.studies.landmark.rankings import MAP, SPARSITY
from lookalike.studies.landmark.section import LandmarkSection
from lookalike.studies.metrics import not_converged, rows_in, select

PAPER = "soml-aaai-2014"
LANDMARKS = ("all_souls", "ashmolean", "bodleian", "christ_church", "hertford", "magdalen", "radcliffe_camera")
"""Landmarks that the paper's tables have rows of."""
PRINTED_CODEBOOKS = {10_000: "10k", 100_000: "100k", 1_000_000: "1m"}
"""Words to how the printed numbers' settings name the codebook: Tables 1, 4, 7, then 2, 5, 8, then 3, 6, 9."""
PAPER_LEARNING = {"positives": 7, "negatives": 500}
"""Images of a landmark, and of others, that a metric is learned from (Experimental Testbed and Setup)."""
TABLE_METHODS = ("tfidf", "qpao", "oasis-diagonal", "soml-tg", "soml-da")
"""Methods that the paper's tables have columns of, in their order."""
PRINTED_METHOD = {"oasis": "oasis-diagonal"}
"""The paper's id of a method to ours, where they differ."""
RECONSTRUCTED = "qpao"
TRAIN_TIME = "train_time"
"""Seconds of processor time to learn."""
RANKED = ("soml-da", "soml-tg", "qpao", "oasis-diagonal", "tfidf")
"""Order in which the paper's claims take one method's precision from another's."""
QUANTITIES = (MAP, SPARSITY, TRAIN_TIME)
"""What the paper's tables show, three tables each, one a codebook."""
MEAN = "mean"
"""Row of the mean over landmarks, which the paper prints for mean average precision alone."""
OTHER_MACHINE = "other machine and implementation"
ABOUT_METHODS = {
    "tfidf": "ranks by weighted counts of visterms and learns nothing",
    RECONSTRUCTED: "ours, a quadratic programme built from what this paper says of it, as its own paper is not at hand",
    "oasis-diagonal": "its step on one weight a visterm, from 1 on, as a full matrix of so many words cannot be stored",
    "soml-tg": "SOML by truncated gradients, which moves every weight towards zero after each step",
    "soml-da": "SOML by dual averaging, which makes the weights anew from the mean of all gradients",
}
SPARSE = ("soml-tg", "soml-da")
"""The paper's own methods."""
LEARNED_FROM = (
    "A metric is learned for each landmark from {positives} of its images and {negatives} others, which then leave the "
    "gallery. A draw is one random choice of them."
)

Form = Callable[[float, float], str]


class Number(NamedTuple):
    """One number of the tables; NaN where there is none."""

    mean: float = math.nan
    std: float = math.nan
    """Standard deviation over draws; NaN for one draw."""
    n_draws: int = 0


@dataclass(frozen=True)
class Vocabulary:
    """A codebook of the study, as its tables name it."""

    id: str
    title: str
    """How captions name its size (``10,000``)."""
    n_words: int
    place: int
    """Its place in the study, from 0."""
    why_not_comparable: str = ""
    """Why its numbers may not be held against the printed ones; "" where they may."""

    @property
    def setting(self) -> str:
        """How printed numbers name the paper's codebook of its size; "" where the paper has none."""
        return f"codebook={PRINTED_CODEBOOKS[self.n_words]}" if self.n_words in PRINTED_CODEBOOKS else ""


class LandmarkStudy(LandmarkSection):
    """The landmark study (SOML, AAAI 2014) on one data set."""

    _is_print: bool = False

    @property
    def is_print(self) -> bool:
        """Tell whether its numbers are the paper's."""
        return self._is_print

    @cached_property
    def vocabularies(self) -> tuple[Vocabulary, ...]:
        """The study's codebooks, from small to large."""
        found = []
        for place, id in enumerate(self.codebooks):
            codebook = self._shared.codebooks[id]
            title, why = codebook.title or f"{codebook.words:,}", self._why_not_comparable(codebook)
            found.append(Vocabulary(id, title, codebook.words, place, why))
        return tuple(found)

    @cached_property
    def landmark_titles(self) -> dict[str, str]:
        """Landmark to its title, in the order of rows."""
        return {landmark: landmark_title(landmark) for landmark in self.named_landmarks()}

    @cached_property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title in the settings, or else its id."""
        return {method: self._shared.methods[method].title or method for method in self.named_methods()}

    @property
    def shows_printed(self) -> bool:
        """Tell whether the paper's numbers stand beside ours: they are of these landmarks and of no others."""
        return self.data_set.kind == "oxford5k"

    def follows_protocol(self) -> bool:
        """Tell whether metrics are learned from as many images as in the paper, for which its constants were set."""
        return not self._other_sizes()

    def _other_sizes(self) -> list[str]:
        """Say which numbers of images to learn from are not the paper's."""
        sizes = {name: getattr(self.learning, name) for name in PAPER_LEARNING}
        return [f"{sizes[name]} {name}, the paper {n}" for name, n in PAPER_LEARNING.items() if sizes[name] != n]

    @property
    def undecided(self) -> str:
        """Sentence on SOML with constants that are for another number of triplets; "" where they are not."""
        changed = {*self.overrides, *(method for changes in self.codebook_overrides.values() for method in changes)}
        as_there = [method for method in SPARSE if method in self.methods and method not in changed]
        if self.follows_protocol() or not as_there:
            return ""
        learning = "a metric was learned from {positives} images of a landmark and {negatives} others, in the paper"
        ours, paper = learning.format_map(dict(self.learning)), " and ".join(map(str, PAPER_LEARNING.values()))
        return (
            f"{' and '.join(map(self.title_of, as_there))} ran with their constants for more triplets: "
            f"{ours} {paper}. That does not decide how they compare with other methods."
        )

    def title_of(self, method: str) -> str:
        """Name a method; QPAO, whose own paper is not at hand, has one that says so."""
        title, is_ours = super().title_of(method), method == RECONSTRUCTED and not self.is_print
        return f"{title} (reconstructed)" if is_ours else title

    def own(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that belong to the study's codebooks and landmarks."""
        return select(table, representation=self.codebooks, subset=list(self.landmark_titles))

    @cached_property
    def values(self) -> pd.DataFrame:
        """Every number, a row each: metrics in percent, and the times of the fits."""
        fits = self.own(self.table("fits"))
        numbers = self.own(self.table("metrics"))
        numbers = numbers[numbers["x"].isna()]
        times = fits.assign(metric=TRAIN_TIME, value=fits["cpu_seconds_fit"])
        parts = [numbers.assign(value=100 * numbers["value"]), times]
        columns = ["representation", "subset", "method", "fold", "metric", "value"]
        return pd.concat([part[columns] for part in parts], ignore_index=True).dropna(subset=["value"])

    def number(self, codebook: Vocabulary, method: str, metric: str) -> pd.Series:
        """Return one number of each landmark and draw, index ``subset`` and ``fold``."""
        return self._numbers[codebook.id, method, metric]

    @cached_property
    def _numbers(self) -> dict[Hashable, pd.Series]:
        """Codebook, method and metric to the numbers of each landmark and draw."""
        rows = self.values.set_index(["subset", "fold"])
        found = rows.groupby(["representation", "method", "metric"])["value"]
        return defaultdict(lambda: rows["value"][:0], iter(found))

    @cached_property
    def not_converged(self) -> dict[tuple[str, str, str], str]:
        """(codebook, landmark, method) to why it has no result, and of how many draws, where a fit did not end."""
        return not_converged(self.own(self.table("fits")), ["representation", "subset", "method"], "draws")

    @cached_property
    def limits(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """Codebook and method to why it has no number there, and the limits of ours on many of its fits."""
        without, found = {(codebook, method) for codebook, _, method in self.not_converged}, {}
        for key in product(self.codebooks, self.methods):
            ended_by = self._ended_by(*key).items()
            limits = [limit for limit, ended in ended_by if sum(ended) >= max(1, LIMITED * len(ended))]
            found[key] = ((UNFINISHED,) if key in without else ()) + tuple(limits)
        return found

    def _ended_by(self, codebook: str, method: str) -> dict[str, list[bool]]:
        """Return each limit of ours to whether it ended each fit."""
        fits = select(self.own(self.table("fits")), method=method, representation=codebook)
        time = fits["not_converged"].fillna("").ne("")
        return {ITERATIONS: fits["converged"].eq(False).tolist(), TIME: time.tolist()}

    @cached_property
    def summary(self) -> dict[tuple[str, str, str, str], Number]:
        """(codebook, landmark or `MEAN`, method, metric) to our number, in percent or seconds."""
        keys = ["representation", "method", "metric", "fold"]
        # within each draw, so that the spread of the mean over landmarks is one over draws too
        means = self.values.groupby(keys, sort=False)["value"].agg(["mean", "count"]).reset_index()
        # a draw that lacks a landmark has no mean over all of them
        whole = means[means["count"] == len(self.landmark_titles)].rename(columns={"mean": "value"}).assign(subset=MEAN)
        found: dict[tuple[str, str, str, str], Number] = {}
        for part in (self.values, whole):
            for row in rows_in(summarise(part, by=("representation", "subset", "method", "metric"))):
                # where a fit did not end, the others are the easier part
                if not self.why_without(row.representation, row.subset, row.method):
                    key = (row.representation, row.subset, row.method, row.metric)
                    found[key] = Number(row.mean, row.std, int(row.n_folds))
        return found

    def mean(self, codebook: Vocabulary, method: str, metric: str) -> Number:
        """Return our mean over landmarks."""
        return self.summary.get((codebook.id, MEAN, method, metric), Number())

    def printed_mean(self, codebook: Vocabulary, method: str, metric: str) -> float:
        """Return the paper's mean over its landmarks with a codebook of this size; NaN for other sizes."""
        return self.printed_means(metric, method).get(codebook.n_words, math.nan)

    def why_without(self, codebook: str, landmark: str, method: str) -> str:
        """Say why a method has no number of a landmark, or of the mean over them; "" where it has one."""
        landmarks = self.landmark_titles if landmark == MEAN else (landmark,)
        keys = ((codebook, name, method) for name in landmarks)
        return next((self.not_converged[key] for key in keys if key in self.not_converged), "")

    def cell(self, codebook: str, landmark: str, method: str, metric: str, form: Form) -> dict[str, float | str]:
        """Return a number and the cell that shows it: ``*`` where a fit did not end, ``-`` where it was not run."""
        number = self.summary.get((codebook, landmark, method, metric), Number())
        cell = form(number.mean, number.std)
        if math.isnan(number.mean):
            cell = STAR if self.why_without(codebook, landmark, method) else MISSING
        return {"ours": number.mean, "ours_std": number.std, "n_draws": number.n_draws, "ours_cell": cell}

    def printed_means(self, quantity: str, method: str) -> dict[int, float]:
        """Return words to the mean of a printed quantity over landmarks; the paper's own mean where it prints one."""
        means = {}
        for words, codebook in PRINTED_CODEBOOKS.items():
            printed = select(self.paper_values, method=method, metric=quantity, representation=codebook)
            own = select(printed, subset=MEAN)
            if len(printed):
                means[words] = float((own if len(own) else printed)["value"].mean())
        return means

    @cached_property
    def paper_values(self) -> pd.DataFrame:
        """The paper's numbers in the form of `values`, its means over landmarks too."""
        rows = self.printed
        rows = rows[(rows["paper"] == PAPER) & rows["metric"].isin(QUANTITIES) & rows["value"].notna()]
        setting = rows["setting"].str.extract(r"^codebook=(?P<representation>[^;]+);landmark=(?P<subset>.+)$")
        method = rows["method"].replace(PRINTED_METHOD)
        return setting.assign(method=method, fold=0, metric=rows["metric"], value=rows["value"])

    def as_printed(self) -> Self:
        """Return the paper's own numbers as a study: seven landmarks, one draw, three codebooks."""
        study = self.anew(methods=list(TABLE_METHODS), learning=self.learning.model_copy(update={"draws": 1}))
        study = study.finished({}, self._printed_rows)
        study._is_print, study._landmarks, study.method_titles = True, list(LANDMARKS), {}
        words = enumerate(PRINTED_CODEBOOKS.items())
        study.vocabularies = tuple(Vocabulary(id, f"{n_words:,}", n_words, place) for place, (n_words, id) in words)
        study.values = self.paper_values[self.paper_values["subset"] != MEAN]
        study.not_converged, study.limits = {}, {}
        return study

    def _why_not_comparable(self, codebook: Codebook) -> str:
        """Say why a codebook may not be held against print, by the settings; "" if it may."""
        if self.synthetic:
            return "synthetic images"
        if not self.shows_printed:
            return "the paper's landmarks are others"
        if sorted(self.named_landmarks()) != sorted(LANDMARKS):
            return "other landmarks than the paper's"
        if other := self._other_sizes():
            return f"other images to learn from than the paper's ({'; '.join(other)})"
        return "RootSIFT" if codebook.root else ""

    def judge(self, codebook: Vocabulary) -> Judge:
        """Return a function of the status and reason of a printed number that gets no verdict; else it returns None."""

        def judge(cell: Mapping[str, Any]) -> tuple[str, str] | None:
            if math.isnan(cell["printed"]):
                return None
            if math.isnan(cell["ours"]):
                failed = self.why_without(codebook.id, cell["landmark"], cell["method"])
                if failed:
                    return Status.NO_RESULT, f"did not converge: {failed}"
                title = self.title_of(cell["method"])
                return None if cell["method"] in self.methods else (Status.NO_RESULT, f"{title} was not run")
            other = OTHER_MACHINE if cell["metric"] == TRAIN_TIME else ""
            why = "; ".join(filter(None, (codebook.why_not_comparable, other)))
            return (Status.NOT_COMPARABLE, why) if why else None

        return judge

    def scope_of(self, claim: Claim) -> Scope:
        """Return the codebooks of a claim, or else all parts that have what it is about."""
        if claim.settings:
            printed = {codebook.setting: codebook.id for codebook in self.vocabularies}
            absent = [setting for setting in claim.settings if setting not in printed]
            return Scope([printed[setting] for setting in claim.settings if setting in printed], absent)
        sought = {(part.metric, method) for part in claim.contrasts for method in part.first}
        rows = (row for row in self.contrasts.rows if (row.metric, row.first) in sought)
        return Scope(list(dict.fromkeys(row.setting for row in rows)))

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether the study runs a method; what is no method counts as run."""
        named = (*TABLE_METHODS, *self.named_methods())
        return method in self.methods or method not in named

    def other_data(self, settings: Sequence[str]) -> str:
        """Say why the data of some codebooks are not the paper's, the first reason; "" where they are."""
        codebooks = (codebook for codebook in self.vocabularies if codebook.id in settings)
        return next((codebook.why_not_comparable for codebook in codebooks if codebook.why_not_comparable), "")

    def setting_title(self, setting: str) -> str:
        """Name a codebook, or what the paper prints: ``10,000 words`` of ``codebook=10k``."""
        ours = {codebook.id: f"{codebook.title} words" for codebook in self.vocabularies}
        printed = {f"codebook={id}": f"{words:,} words" for words, id in PRINTED_CODEBOOKS.items()}
        return (ours | printed).get(setting, setting)

    @property
    def size(self) -> str:
        """Landmarks, and all images that are ranked or learned from."""
        n_landmarks = len(self.landmark_titles)
        return f"{len(self.table('manifest')):,} images, {n_landmarks} landmarks" if self.has("manifest") else ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Return the mean average precision of every method and codebook, over landmarks."""
        form = partial(plus_minus, form=".1f")
        rows = {
            method: [str(self.cell(id, MEAN, method, MAP, form)["ours_cell"]) for id in self.codebooks]
            for method in self.methods
        }
        columns, n_draws = [f"mAP (%), {codebook.title} words" for codebook in self.vocabularies], self.learning.draws
        spread = f"; ± standard deviation over {n_draws} draws" if n_draws > 1 else ", one draw"
        origin = ", whose images are made by code" if self.synthetic else ""
        notes = [f"Means over {len(self.landmark_titles)} landmarks{origin}{spread}."]
        return "retrieval of landmarks (SOML, AAAI 2014)", columns, rows, notes

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Say which data, how many landmarks and draws, and what ± is."""
        n_landmarks, n_draws = len(self.landmark_titles), self.learning.draws
        origin = " (images made by code)" if self.synthetic else ""
        counted = f"{n_landmarks} landmark{'s' * (n_landmarks != 1)}"
        data = f"Data: {self.title}{origin}" + ("" if self.title.startswith(counted) else f", {counted}")
        if drawn is None or isinstance(drawn, Gallery):
            return f"{data}."
        if n_draws == 1:
            return f"{data}, one draw."
        has_spread = isinstance(drawn, Table) and not drawn.heads and "low" not in drawn.frame
        spread = "± standard deviation" if has_spread else "means"
        return f"{data}; {spread} over {n_draws} draws."

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Say what ours of a method is, limits that ended a fit, and why numbers may not be held against print."""
        if self.not_run or drawn is None:
            return []
        words = set(drawn.frame.get("representation", ()))
        methods = self._methods_in(drawn.frame)
        codebooks = [codebook for codebook in self.vocabularies if codebook.id in words]
        own = ((method, self.spec(method).note) for method in self.methods)
        said = [*ABOUT_METHODS.items(), *((method, note) for method, note in own if note)]
        notes = [f"{self.title_of(method)}: {note.rstrip('.')}." for method, note in said if method in methods]
        notes.append(LEARNED_FROM.format(**dict(self.learning)))
        if self.exhibit is not None and "fits" in self.exhibit.needs:
            notes += self._stopped_notes(codebooks, methods) + self._not_converged_notes(codebooks, methods)
        why = dict.fromkeys(codebook.why_not_comparable for codebook in codebooks if codebook.why_not_comparable)
        if self.paper == PAPER and why:
            notes.append(f"Not comparable with the printed numbers: {'; '.join(why)}.")
        return notes

    def _methods_in(self, frame: pd.DataFrame) -> list[str]:
        """Return those of which an exhibit shows numbers of ours; a table of claims is about all that is compared."""
        found = set(frame["method"]) if "method" in frame else set(self.methods)
        return [method for method in self.methods if method in found]

    def _stopped_notes(self, codebooks: Sequence[Vocabulary], methods: Sequence[str]) -> list[str]:
        """Say in how many fits a learner stopped at its limit of iterations, and not by its own rule."""
        counts = []
        for method, codebook in product(methods, codebooks):
            ended = self._ended_by(codebook.id, method)[ITERATIONS]
            if any(ended):
                counts.append(f"{self.title_of(method)} in {sum(ended)} of {len(ended)} fits ({codebook.title} words)")
        return [f"Stopped at the limit of iterations: {'; '.join(counts)}."] if counts else []

    def _not_converged_notes(self, codebooks: Sequence[Vocabulary], methods: Sequence[str]) -> list[str]:
        """Explain the ``*`` of ours."""
        reasons: dict[tuple[str, str, str], list[str]] = {}
        for codebook, (landmark, title), method in product(codebooks, self.landmark_titles.items(), methods):
            reason = self.not_converged.get((codebook.id, landmark, method))
            if reason:
                reasons.setdefault((self.title_of(method), codebook.title, reason), []).append(title)
        found = reasons.items()
        unfinished = [f"{method} on {', '.join(names)}, {words} words: {why}" for (method, words, why), names in found]
        return [f"{STAR}: a fit did not end within its time limit: {'; '.join(unfinished)}."] if unfinished else []


STUDY = LandmarkStudy


def landmark_title(landmark: str) -> str:
    """Return ``All Souls`` of ``all_souls``."""
    return capwords(landmark.replace("_", " "))
