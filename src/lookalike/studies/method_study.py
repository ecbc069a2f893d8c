"""What studies share that run methods of the settings, with changes of their own to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from pydantic import Field

from lookalike.core.settings.data_sets import SYNTHETIC_KINDS
from lookalike.core.settings.methods import Batch, Fit, Method, Overrides
from lookalike.core.settings.model import Absent, only, plain
from lookalike.data.ground_truth import painted_truth
from lookalike.exhibits.study import Study


class MethodStudy(Study, ABC):
    """A study of methods."""

    batch: Absent[Batch] = None
    """`batch` of all methods of the study, except those whose `overrides` set one. If left out, each method has its
    own. With `subset`, traces of training run in the same job, and all rankers in one job."""
    overrides: Overrides = Field({})

    @property
    def painted_files(self) -> dict[str, str]:
        """Folder of the images that code makes, and of their ground truth if they have one; none where it does not."""
        roots = {"root": self.painted_folder} if self.data_set.kind in SYNTHETIC_KINDS else {}
        is_judged = self.data_set.kind == "synthetic_landmarks"
        return roots | ({"ground_truth": painted_truth(roots["root"]).as_posix()} if is_judged else {})

    @property
    def size(self) -> str:
        """Images and classes that were kept."""
        if not self.has("manifest"):
            return ""
        kept = self.table("manifest").loc[lambda rows: rows["status"] == "ok", "label"]
        return f"{len(kept):,} images of {kept.nunique()} classes"

    @cached_property
    def method_titles(self) -> Mapping[str, str]:
        """Method to its title in the settings, where they give one; a change of a title counts."""
        titles = {method: self.changed(method).title for method in self._shared.methods}
        return {method: title for method, title in titles.items() if title}

    @abstractmethod
    def named_methods(self) -> list[str]:
        """Return the methods that exhibits may name."""

    def limits_of(self, setting: str, method: str) -> Iterable[str]:
        """Return why a method has no number on a setting, and the limits of ours that ended many of its fits there."""
        return ()

    def changed(self, method: str, *further: Mapping[str, Method]) -> Method:
        """Return a method with the study's changes to it, and then further ones, by method."""
        spec = self._shared.methods[method]
        for changes in (self.overrides, *further):
            spec = spec.changed(changes.get(method))
        return spec

    def methods_in(self, size: str, methods: Iterable[str]) -> list[str]:
        """Return those of some methods that run in batches of a size: as changed, as the study says, or else."""
        changed = {method: own.batch for method, own in self.overrides.items() if "batch" in own.model_fields_set}
        own = {method: self.batch or self._shared.methods[method].batch for method in methods} | changed
        return [method for method in methods if own[method] == size]

    def shared(self) -> dict[str, Any]:
        """Return what contrasts and exhibits read of other sections: the methods, too."""
        methods = {method: self._shared.methods[method] for method in self.named_methods()}
        return {**super().shared(), "methods": {id: plain(spec, exclude={"batch"}) for id, spec in methods.items()}}


def fit_of(method: Method) -> Fit:
    """Return what decides a fit of a method; its title, its note and its batch do not."""
    return only(Fit, method)
