"""A study: its section of the settings, and what its rules, jobs and exhibits ask of it.

Each room of `lookalike.studies` has a subclass in ``study.py``, the model of its section of config.yaml. From the
settings it says which jobs there are and what each reads; with the tables of a finished run, what these hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Self

import pandas as pd
from pydantic import PrivateAttr

from lookalike.core.files import read_json, read_table
from lookalike.core.settings.data_sets import SYNTHETIC_KINDS, VISTERM_KINDS, AnyDataSet
from lookalike.core.settings.model import Section, plain
from lookalike.core.settings.schema import Shared
from lookalike.exhibits.claims import Claim, Scope
from lookalike.exhibits.contrasts import REAL, SIMULATED, SYNTHETIC, Contrast, Contrasts, contrasts_frame
from lookalike.exhibits.model import Drawn
from lookalike.exhibits.printed import printed_numbers
from lookalike.exhibits.registry import Exhibit, exhibits_of
from lookalike.exhibits.results import select, with_parts
from lookalike.exhibits.style import TITLES

Files = Mapping[str, str | list[str]]
"""Name of a table or file, as exhibits need it, to its path or paths."""
Rows = Sequence[Mapping[str, str]]


class Study(Section):
    """One data set's study."""

    room: ClassVar[str]
    """Its folder in `lookalike.studies`."""
    tables: ClassVar[tuple[str, ...]] = ()
    """Names of the tables in its folder that are there for all its exhibits."""
    contrasted: ClassVar[tuple[str, ...]] = ()
    """Names of the files that its contrasts are made of; none where no claim and no exhibit asks for one."""
    data_keys: ClassVar[set[str]] = {"title", "kind", "stand_in"}
    """Keys of its data set that contrasts and exhibits read."""
    without_effect: ClassVar[Mapping[str, object]] = {"batch": True}
    """Its own keys on which no number depends, as pydantic leaves them out: contrasts and exhibits do without."""
    jobs: ClassVar[Mapping[str, str]] = {}
    """Job of a rule to what it reads of the settings: attributes of the study, such as ``seed theta=training.theta``
    where the parameter has another name; a method is given what the job fits, and its wildcards by name."""

    _dataset: str = ""
    _shared: Shared
    _files: Files = PrivateAttr(default_factory=dict)
    _printed_rows: Rows = ()
    _claim_rows: Rows = ()
    _not_run: str = ""
    _exhibit: Exhibit | None = None
    _chosen: Collection[str] | None = None
    _tables: dict[str, pd.DataFrame] = PrivateAttr(default_factory=dict)

    def bound(self, dataset: str, shared: Shared) -> Self:
        """Return the study as that of a data set, which reads what all studies share of the settings."""
        self._dataset, self._shared = dataset, shared
        return self

    def check(self) -> None:
        """Refuse settings that name what does not exist or cannot work together."""

    def reads(self, job: str, fitted: Sequence[str] = (), **names: str) -> Mapping[str, object]:
        """Return what a job of a rule reads of the settings: of the methods that it fits, and by its wildcards."""
        if job == "exhibits":
            return {"study": self.section(), "shared": self.shared()}
        parts = [part.partition("=") for part in self.jobs[job].split()]
        found = {name: attrgetter(path or name)(self) for name, _, path in parts}
        return {name: value(fitted, **names) if callable(value) else value for name, value in found.items()}

    def section(self) -> dict[str, object]:
        """Return its own keys on which a number or an exhibit depends."""
        return dict(plain(self, exclude=self.without_effect))

    def shared(self) -> dict[str, object]:
        """Return what contrasts and exhibits read of other sections."""
        data = plain(self.data_set, include=self.data_keys)
        return {"seed": self.seed, "datasets": {self.dataset: data}}

    def params(self, job: str, fitted: Sequence[str] = (), **names: str) -> dict[str, object]:
        """Return what a job reads of the settings as plain values; it runs again when one of them changes."""
        return {name: plain(value) for name, value in self.reads(job, fitted, **names).items()}

    @classmethod
    def given(cls, dataset: str, settings: Mapping[str, object]) -> Self:
        """Return the study from the parameters that a job for contrasts or exhibits is given."""
        return cls.model_validate(settings["study"]).bound(dataset, Shared.model_validate(settings["shared"]))

    def finished(self, files: Files, printed: Rows = (), claims: Rows = (), not_run: str = "") -> Self:
        """Return the study with its files, rows of reference-values.csv and of claims.csv, or why it was not run."""
        self._files, self._tables, self._not_run = files, {}, not_run
        self._printed_rows, self._claim_rows = printed, claims
        return self

    def with_settings(self, **changes: object) -> Self:
        """Return the study with some settings changed, which has computed nothing yet."""
        study = self.model_copy(update=changes)
        for name in vars(study).keys() - type(study).model_fields.keys():
            del vars(study)[name]
        return study

    def drawing_only(self, exhibits: Collection[str]) -> Self:
        """Return the study that draws these exhibits, given by id, and plans no more than they need."""
        study = self.with_settings()
        study._chosen = exhibits
        own = study.own_exhibits()
        needed = [exhibit.needed for exhibit in own]
        if not own or None in needed:
            return study
        return study.showing(own, {name for names in needed for name in names or ()})

    def showing(self, exhibits: Sequence[Exhibit], roles: Collection[str]) -> Self:
        """Return the study without what these exhibits do not show; `shown` is what they name together."""
        return self

    @property
    def is_whole(self) -> bool:
        """Tell whether it draws all its exhibits, and not only chosen ones."""
        return self._chosen is None

    @property
    def has_numbers(self) -> bool:
        """Tell whether it draws a table or a figure, and not pictures alone."""
        return self.is_whole or any(exhibit.kind in ("table", "figure") for exhibit in self.own_exhibits())

    @property
    def contrasts_file(self) -> str:
        """Path of its contrasts; "" where it makes none."""
        return f"{self.folder}/{self.room}/contrasts.parquet" if self.contrasted and self.has_numbers else ""

    def inputs(self) -> Files:
        """Return the files that the job is given which makes its contrasts and draws its exhibits."""
        files, own = self.planned_files(), self.own_exhibits()
        if self.is_whole:
            return files
        wanted = {name for exhibit in own for name in exhibit.needs}
        optional = {name for exhibit in own for name in exhibit.optional}
        # pictures do without numbers
        wanted |= {*optional, "manifest", *self.contrasted} if self.has_numbers else optional - {"results"}
        return {name: paths for name, paths in files.items() if name in wanted}

    def planned_files(self) -> Files:
        """Return the files that exhibits are drawn from."""
        return {name: f"{self.folder}/{name}.parquet" for name in self.tables}

    def shards(self) -> list[str]:
        """Return the shard numbers of its data set, zero-padded as in file names."""
        return [f"{shard:03d}" for shard in range(self.data_set.shards)]

    @property
    def painted_folder(self) -> str:
        """Folder of the images that code makes."""
        return f"{self.folder}/images"

    def painted(self) -> list[str]:
        """Return the mark that all images are painted; none where they are not made by code."""
        return [f"{self.folder}/painted.json"] if self.data_set.kind in SYNTHETIC_KINDS else []

    def own_exhibits(self) -> list[Exhibit]:
        """Return the exhibits that the study has, by its settings, or those of them that were chosen."""
        known, chosen = exhibits_of(self.room), self._chosen
        return [found for id, found in known.items() if (chosen is None or id in chosen) and found.is_of(self)]

    @property
    def dataset(self) -> str:
        """Id of the data set."""
        return self._dataset

    @property
    def data_set(self) -> AnyDataSet:
        """Settings of the data set."""
        return self._shared.datasets[self._dataset]

    @property
    def has_pictures(self) -> bool:
        """Tell whether its data set has images, not counts of visterms alone."""
        return self.data_set.kind not in VISTERM_KINDS

    @property
    def folder(self) -> str:
        """Folder of its results."""
        return f"results/{self._dataset}"

    @property
    def seed(self) -> int:
        """Root seed."""
        return self._shared.seed

    @property
    def painting_seed(self) -> int:
        """Seed of a data set that is made by code, from its name."""
        return self._shared.painting_seed(self._dataset)

    @property
    def title(self) -> str:
        """Title of the data set."""
        return self.data_set.title or self._dataset

    @property
    def data(self) -> str:
        """Its data set, as a sentence begins, and whether its images are made by code."""
        return f"{self.title[:1].upper()}{self.title[1:]}{' (images made by code)' if self.synthetic else ''}"

    @property
    def synthetic(self) -> bool:
        """Tell whether its images, or its log, are made by code; captions say so."""
        return self.data_set.is_synthetic

    @property
    def simulated(self) -> bool:
        """Tell whether what is decided on is simulated though its images are real."""
        return False

    @property
    def origin(self) -> str:
        """Where its data come from, as its contrasts say it."""
        return SIMULATED if self.simulated else SYNTHETIC if self.synthetic else REAL

    @property
    def corner(self) -> str:
        """Return what stands in the corner of a picture whose data are not real; "" where they are."""
        return "Synthetic images" if self.synthetic else ""

    @property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title in the settings, where they give one."""
        return {method: spec.title for method, spec in self._shared.methods.items() if spec.title}

    @property
    def not_run(self) -> str:
        """``not run: put X at Y``; "" where it was run."""
        return self._not_run

    @property
    def exhibit(self) -> Exhibit | None:
        """Exhibit that is drawn, which says in which of two papers' forms."""
        return self._exhibit

    @property
    def paper(self) -> str:
        """Paper of the exhibit that is drawn."""
        return self._exhibit.paper if self._exhibit is not None else ""

    @property
    def claim_rows(self) -> Rows:
        """Rows of claims.csv that the study decides."""
        return self._claim_rows

    @cached_property
    def printed(self) -> pd.DataFrame:
        """Printed numbers that the study stands beside, from `lookalike.exhibits.printed.printed_numbers`."""
        return printed_numbers(self._printed_rows)

    def printed_in(self, exhibit: str = "", paper: str = "") -> pd.DataFrame:
        """Printed numbers of one exhibit; by default of the one that is drawn."""
        name = exhibit or (self._exhibit.name if self._exhibit is not None else "")
        return select(self.printed, paper=paper or self.paper, exhibit=name)

    def has(self, name: str) -> bool:
        """Tell whether a table or file of this name was given."""
        return bool(self._files.get(name)) or name in self._tables

    def paths(self, name: str) -> list[Path]:
        """Paths of the files of one name; none where it was not given."""
        found = self._files.get(name, [])
        return [Path(path) for path in ([found] if isinstance(found, str) else found)]

    def path(self, name: str) -> Path:
        """Path of one file."""
        return self.paths(name)[0]

    @property
    def images_root(self) -> Path:
        """Folder that paths of its images start from."""
        return Path(read_json(self.path("images"))["root"])

    def table(self, name: str) -> pd.DataFrame:
        """Return one of the study's tables, read once; of several files, all of them one below the other."""
        if name not in self._tables:
            first, *others = map(read_table, self.paths(name))
            self._tables[name] = pd.concat([first, *others], ignore_index=True) if others else first
        return self._tables[name]

    @cached_property
    def results(self) -> pd.DataFrame:
        """Rows of results and of times, with a column for each part of their setting."""
        tables = [self.table(name) for name in ("results", "times") if self.has(name)]
        return with_parts(pd.concat(tables, ignore_index=True))

    def titles_of(self, column: str) -> Mapping[str, str]:
        """Return the values of a column of results with their titles, in the order of tables."""
        return {}

    def methods_named(self, names: Sequence[str]) -> list[str]:
        """Return the methods that an exhibit shows, which names them or the settings that list them."""
        return list(self.titles_of("method")) if list(names) == ["methods"] else list(names)

    def settings_of(self, exhibit: Exhibit) -> list[str]:
        """Return the settings whose methods an exhibit compares."""
        return [";".join(f"{column}={value}" for column, value in exhibit.parts.items())]

    def measures(self, exhibit: Exhibit) -> bool:
        """Tell by its settings whether the study measures what an exhibit shows."""
        return True

    def is_comparable(self, setting: str) -> bool:
        """Tell whether numbers of a setting may stand on one axis with the printed ones."""
        return True

    def why_absent(self, setting: str, method: str) -> str:
        """Say why a setting has no numbers of a method."""
        return "not run here"

    def printed_results(self) -> pd.DataFrame:
        """Return printed numbers of the exhibit at hand, with a column for each part of their setting."""
        return with_parts(self.printed_in())

    def contrasted_by(self, rows: Iterable[Contrast]) -> None:
        """Keep contrasts, which its exhibits show."""
        vars(self).pop("contrasts", None)
        self._tables["contrasts"] = contrasts_frame(rows)

    @cached_property
    def contrasts(self) -> Contrasts:
        """Return what its numbers say of methods, and of one beside another."""
        return Contrasts.read(self.table("contrasts"))

    def title_of(self, method: str) -> str:
        """Name of a method in tables and legends: that of the settings, else the papers'."""
        return self.method_titles.get(method) or TITLES.get(method, method)

    def drawing(self, exhibit: Exhibit | None) -> Self:
        """Return this study for another exhibit, or for none; tables that it has read, and what it computed, stay."""
        self._exhibit = exhibit
        return self

    def scope_of(self, claim: Claim) -> Scope:
        """Return the settings of a claim that have what it is about, or else all that have it."""
        pairs = ((part.metric, name) for part in claim.contrasts for name in part.first)
        wanted = {(metric, method) for metric, name in pairs for method in self.role(name)}
        there = dict.fromkeys(row.setting for row in self.contrasts.rows if (row.metric, row.first) in wanted)
        asked = claim.settings or there
        return Scope([name for name in asked if name in there], [name for name in asked if name not in there])

    def role(self, name: str) -> list[str]:
        """Return the methods that a name in claims.csv stands for."""
        return [name]

    def was_run(self, method: str, setting: str = "") -> bool:
        """Tell whether a method was run, on a part or at all; what is no method counts as run."""
        return True

    def follows_protocol(self) -> bool:
        """Tell whether it was run as the paper says where a claim depends on that."""
        return True

    def setting_title(self, setting: str) -> str:
        """Name a part of the study."""
        return setting

    def part_title(self, setting: str) -> str:
        """Name a part of the study behind the title of its data set."""
        return self.setting_title(setting)

    def data_sentence(self, drawn: Drawn | None) -> str:
        """Return the second sentence of a caption: which data, how many repeats, and what ± and error bars are."""
        return f"{self.data}."

    @property
    def size(self) -> str:
        """Return what the data set has, counted, such as ``1,080 images of 12 classes``; "" where that is not known."""
        return ""

    def notes(self, drawn: Drawn) -> list[str]:
        """Return what has to be known of an exhibit besides its caption, a sentence each."""
        return []

    def differences(self, drawn: Drawn) -> list[str]:
        """Return what differs from the paper's exhibit, a sentence each."""
        return []
