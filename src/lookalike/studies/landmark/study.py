"""What the exhibits of the landmark study ask of it: titles, numbers beside print, and limits (SOML, AAAI 2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import product
from string import capwords

import pandas as pd

from lookalike.exhibits.limits import Limits
from lookalike.exhibits.model import Drawn, Gallery, Table
from lookalike.exhibits.printed import MISSING, STAR, plus_minus
from lookalike.exhibits.results import select, with_parts
from lookalike.studies.landmark.rankings import MAP
from lookalike.studies.landmark.results import MEAN, codebook_name
from lookalike.studies.landmark.settings import LandmarkSettings

PAPER = "soml-aaai-2014"
LANDMARKS = ("all_souls", "ashmolean", "bodleian", "christ_church", "hertford", "magdalen", "radcliffe_camera")
"""Landmarks that the paper's tables have rows of."""
PRINTED_METHOD = {"oasis": "oasis-diagonal"}
"""The paper's id of a method to ours, where they differ."""
PAPER_LEARNING = {"positives": 7, "negatives": 500}
"""Images of a landmark, and of others, that a metric is learned from (Experimental Testbed and Setup)."""
RECONSTRUCTED = "qpao"
ABOUT_METHODS = {
    "tfidf": "ranks by weighted counts of visterms and learns nothing",
    RECONSTRUCTED: "ours, a quadratic programme built from what this paper says of it, as its own paper is not at hand",
    "oasis-diagonal": "its step on one weight a visterm, from 1 on, as a full matrix of so many words cannot be stored",
    "soml-tg": "SOML by truncated gradients, which moves every weight towards zero after each step",
    "soml-da": "SOML by dual averaging, which computes the weights from the mean of all gradients",
}
LEARNED_FROM = (
    "A metric is learned for each landmark from {positives} of its images and {negatives} others, which then leave the "
    "gallery. A draw is one random choice of them."
)


class LandmarkStudy(LandmarkSettings):
    """The landmark study (SOML, AAAI 2014) on one data set."""

    @cached_property
    def codebook_ids(self) -> dict[str, str]:
        """Name of a codebook in settings, such as ``10k``, to its id, from small to large."""
        return {codebook_name(words): id for id, words in self.codebook_sizes.items()}

    def words_of(self, codebook: str) -> str:
        """Name the words of a codebook as captions do: ``10,000 words``."""
        given = self._shared.codebooks[self.codebook_ids[codebook]]
        return f"{given.title or f'{given.words:,}'} words"

    @cached_property
    def landmark_titles(self) -> dict[str, str]:
        """Landmark to its title, in the order of rows."""
        return {landmark: landmark_title(landmark) for landmark in self.landmark_names}

    @cached_property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title in the settings, or else its id."""
        return {method: self._shared.methods[method].title or method for method in self.named_methods()}

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        match column:
            case "codebook":
                return {name: self.words_of(name) for name in self.codebook_ids}
            case "landmark":
                return {**self.landmark_titles, MEAN: MEAN}
        return {method: self.title_of(method) for method in self.methods}

    def title_of(self, method: str) -> str:
        """Name a method; QPAO, whose own paper is not at hand, has one that says so."""
        title = super().title_of(method)
        return f"{title} (reconstructed)" if method == RECONSTRUCTED else title

    def setting_title(self, setting: str) -> str:
        """Name a codebook, or what the paper prints: ``10,000 words`` of ``codebook=10k``."""
        name = setting.removeprefix("codebook=")
        printed = {"10k": "10,000 words", "100k": "100,000 words", "1m": "1,000,000 words"}
        return self.words_of(name) if name in self.codebook_ids else printed.get(name, setting)

    @property
    def shows_printed(self) -> bool:
        """Tell whether the paper's numbers stand beside ours: they are of these landmarks and of no others."""
        return self.data_set.kind == "oxford5k"

    @cached_property
    def printed_numbers(self) -> pd.DataFrame:
        """The paper's numbers, by our names, with a column for each part of their setting."""
        rows = self.printed[(self.printed["paper"] == PAPER) & self.printed["value"].notna()]
        return with_parts(rows.assign(method=rows["method"].replace(PRINTED_METHOD)))

    def printed_results(self) -> pd.DataFrame:
        """Return the paper's numbers of the exhibit at hand; of other landmarks than its own, only means over its own.

        The paper prints no mean of sparsity and time.
        """
        name = self.exhibit.name if self.exhibit is not None else "text"
        rows = self.printed_numbers[self.printed_numbers["exhibit"] == name]
        if self.shows_printed or "landmark" not in rows or rows["landmark"].isna().all():
            return rows
        means = rows.groupby(["codebook", "method", "metric"])["value"].mean().reset_index()
        given = rows[rows["landmark"] == MEAN]
        return given if len(given) else means.assign(landmark=MEAN, spread=float("nan"))

    def follows_protocol(self) -> bool:
        """Tell whether metrics are learned from as many images as in the paper, for which its constants were set."""
        return not self._other_sizes()

    def _other_sizes(self) -> list[str]:
        """Say which numbers of images to learn from are not the paper's."""
        sizes = {name: getattr(self.learning, name) for name in PAPER_LEARNING}
        return [f"{sizes[name]} {name}, the paper {n}" for name, n in PAPER_LEARNING.items() if sizes[name] != n]

    @cached_property
    def limits(self) -> Limits:
        """Limits that ended its fits, by codebook; means over landmarks are no fits."""
        return Limits(self.results, lambda name: "" if name.endswith(f"={MEAN}") else name.partition(";")[0])

    def limits_of(self, settings: Sequence[str], *methods: str) -> str:
        """Return the limits of ours that ended many fits of some methods, and why one has no number there."""
        pairs = product(methods, settings)
        codes = [f"{method}:{code}" for method, setting in pairs for code in self.limits.codes(setting, method)]
        return ";".join(dict.fromkeys(codes))

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether the study runs a method; what is no method counts as run."""
        return method in self.methods or method not in (*ABOUT_METHODS, *self.named_methods())

    @property
    def size(self) -> str:
        """Landmarks, and all images that are ranked or learned from."""
        n_landmarks = len(self.landmark_titles)
        return f"{len(self.table('manifest')):,} images, {n_landmarks} landmarks" if self.has("manifest") else ""

    def main_numbers(self) -> tuple[str, list[str], dict[str, list[str]], list[str]]:
        """Return the mean average precision of every method and codebook, over landmarks."""
        form, rows = partial(plus_minus, form=".1f"), {}
        for method in self.methods:
            cells = []
            for codebook in self.codebook_ids:
                own = select(self.results, codebook=codebook, landmark=MEAN, method=method, metric=MAP)["value"]
                lost = self.limits.has_lost(f"codebook={codebook}", method)
                cells.append(STAR if lost else MISSING if own.empty else form(own.mean(), own.std()))
            rows[method] = cells
        columns, n_draws = [f"mAP (%), {self.words_of(name)}" for name in self.codebook_ids], self.learning.draws
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
        has_spread = isinstance(drawn, Table) and "landmark" in drawn.frame and "low" not in drawn.frame
        return f"{data}; {'± standard deviation' if has_spread else 'means'} over {n_draws} draws."

    def notes(self, drawn: Drawn | None) -> list[str]:
        """Say what ours of a method is, limits that ended a fit, and how the data differ from the paper's."""
        if self.not_run or drawn is None:
            return []
        drawn_methods = set(drawn.frame.get("method", ()))
        methods = [method for method in self.methods if method in drawn_methods]
        codebooks = list(dict.fromkeys(drawn.frame.get("codebook", ())))
        own = ((method, self.spec(method).note) for method in self.methods)
        said = [*ABOUT_METHODS.items(), *((method, note) for method, note in own if note)]
        notes = [f"{self.title_of(method)}: {note.rstrip('.')}." for method, note in said if method in methods]
        notes.append(LEARNED_FROM.format(**dict(self.learning)))
        notes += self.limits.notes(
            {method: self.title_of(method) for method in methods},
            {f"codebook={name}": self.words_of(name) for name in codebooks},
        )
        notes += self._unlike_paper(codebooks) if self.paper == PAPER else []
        return [note for note in notes if note]

    def _unlike_paper(self, codebooks: Sequence[str]) -> list[str]:
        """Say how images and constants differ from the paper's."""
        if not self.shows_printed:
            return [f"The paper's row is the mean over its {len(LANDMARKS)} landmarks of Oxford."]
        others = sorted(self.landmark_names) != sorted(LANDMARKS)
        found = ["These are other landmarks than the paper's."] if others else []
        if sizes := self._other_sizes():
            found.append(f"A metric is learned from {'; '.join(sizes)}.")
        root = [name for name in codebooks if self._shared.codebooks[self.codebook_ids[name]].root]
        return found + ["Descriptors are RootSIFT, the paper's SIFT."] * bool(root)


STUDY = LandmarkStudy


def landmark_title(landmark: str) -> str:
    """Return ``All Souls`` of ``all_souls``."""
    return capwords(landmark.replace("_", " "))
