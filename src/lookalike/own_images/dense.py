"""Hand-crafted descriptions of one's own images: the describers of the fine-grained study, at unit length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from lookalike.core.seeds import integer_seed
from lookalike.own_images.describing import Arrays, Progress, Representation, Vectors, counting

if TYPE_CHECKING:
    from lookalike.features.describers import Describer


class Described(Representation):
    """A hand-crafted description of the fine-grained study, its vectors brought to unit length.

    Histograms, which are compared by another distance than the Euclidean one, go through a square root first: the
    Euclidean distance of square roots is Hellinger's.

    Parameters
    ----------
    system : str
        As in `lookalike.features.describers`.
    """

    _FITTED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "fisher": ("mean_", "projection_", "mixture_"),
        "sift-like": ("words_",),
        "spmk-texton-1024-max": ("textons", "variance"),
    }

    def __init__(self, system: str, **settings: Any) -> None:
        from lookalike.features.describers import make_describer

        self.describer: Describer = make_describer(system, **settings)
        self.name = self.describer.system

    @property
    def n_dimensions(self) -> int:
        """Length of the description."""
        return self.describer.n_dimensions

    def settings(self) -> dict[str, Any]:
        """Return the describer's settings."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.describer.settings().items()
        }

    def arrays(self) -> Arrays:
        """Return what the describer learned; nothing for most."""
        learned: Arrays = {}
        for name in self._FITTED.get(self.name, ()):
            value = getattr(self.describer, name, None)
            if isinstance(value, tuple):
                learned |= {f"{name}.{place}": np.asarray(part) for place, part in enumerate(value)}
            elif value is not None:
                learned[name] = np.asarray(value)
        return learned

    def _restore(self, arrays: Arrays) -> None:
        for name in self._FITTED.get(self.name, ()):
            if name == "mixture_":
                from lookalike.features.fisher_vector import Mixture

                self.describer.mixture_ = Mixture(*(arrays[f"{name}.{place}"] for place in range(3)))  # type: ignore[attr-defined]
            else:
                setattr(self.describer, name, arrays[name] if arrays[name].ndim else float(arrays[name]))

    def _learn(self, paths: Sequence[Path], sha256: Sequence[str], seed: int, jobs: int, progress: Progress) -> None:
        from lookalike.core.images import load_rgb

        if self.describer.needs_fit:
            images = (load_rgb(path) for path in paths)
            self.describer.fit(
                counting(images, len(paths), f"learning what {self.name} needs", progress),
                random_state=integer_seed(seed, "own images", self.name),
            )

    def _describe(self, paths: Sequence[Path]) -> Vectors:
        from lookalike.core.images import load_rgb

        return np.stack([self.describer.describe(load_rgb(path)) for path in paths])

    def weigh(self, vectors: Vectors) -> Vectors:
        """Take square roots of histograms, and scale rows to unit length."""
        rows = vectors.astype(np.float64)
        if self.describer.distance in ("l1", "chi2"):
            rows = np.sign(rows) * np.sqrt(np.abs(rows))
        return unit_rows(rows)


def unit_rows(rows: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    """Scale rows to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
