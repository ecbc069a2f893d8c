"""`ImageSimilarity`: from a folder of one's own images to a similarity, rankings, numbers and a model file."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lookalike import __version__
from lookalike.app import learning
from lookalike.app.cache import Cache
from lookalike.app.learning import TRAIN, choose_evaluated, choose_roles, fit_components, nearest, onto_components
from lookalike.app.model_file import SIMILARITY, Header, read_similarity, write_similarity
from lookalike.app.representations import CachedDescriber, Workers, make_representation
from lookalike.app.sources import (
    ImageSet,
    Table,
    distinct,
    first_reason,
    read_class_folders,
    read_files,
    read_images,
    read_labels,
    read_triplets,
)
from lookalike.core.errors import LookalikeError
from lookalike.core.files import PathLike
from lookalike.core.model_file import SUFFIX, About, Arrays, fits_together
from lookalike.data.scan import refuse_parts
from lookalike.data.splits import draw_codebook_pool
from lookalike.features.bag_of_visterms import BagOfVisterms
from lookalike.features.describers import StageProgress, Vectors, silent
from lookalike.learners.base import SimilarityLearner, is_sparse
from lookalike.learners.euclidean import Euclidean

BASELINE = "Euclidean"
PRECISION_AT = (1, 5, 10)


class ImageSimilarity:
    """A similarity of images, learned from one's own; what cannot be used is a `LookalikeError`, one sentence.

    Parameters
    ----------
    representation : str, default="visterms"
        How images are described: ``"visterms"`` as in the category study, a describer of the fine-grained study
        (``"hog"``, ``"fisher"``, ``"color"``...), or the path of a model file, whose codebook is taken over.
    learner : str, default="OASIS"
        One of `lookalike.learners` that learns from what is there.
    words : int, optional
        Words of the codebook of visterms; by default suited to the number of images.
    parameters : mapping, optional
        Settings of the learner. Without ``n_steps`` or ``early_stopping``, online learners choose their number of steps
        by images that they set aside.
    hold_out : float, default=0.0
        Share of every class (of triplets: of the query images) that nothing is learned from, for `evaluate`.
    random_state : int, default=0
        Root of every random draw.
    jobs : int, optional
        Images described at a time, by default as many as there are processors; no result depends on it.
    cache : path-like, optional
        Folder in which descriptions are kept from one call to the next.
    progress : callable, optional
        Called as ``progress(what, done, total)``.

    Attributes
    ----------
    images_ : DataFrame
        After `fit`: ``path``, ``label``, ``sha256``, ``role`` (train or held-out) of the images.
    left_out_ : DataFrame
        ``path`` and ``reason`` of the files that could not be used.
    triplets_left_out_ : int
    n_triplets_ : int
        Triplets that were learned from; 0 with labels.
    learner_ : SimilarityLearner
        The fitted learner.
    representation_ : CachedDescriber
        The fitted representation.
    seconds_ : dict of str to float
        Wall-clock time of every step.

    Examples
    --------
    >>> from lookalike import ImageSimilarity
    >>> model = ImageSimilarity(hold_out=0.25).fit("photos")  # doctest: +SKIP
    >>> model.rank(["query.jpg"], "photos", k=5)  # doctest: +SKIP
    """

    images_: pd.DataFrame
    left_out_: pd.DataFrame
    learner_: SimilarityLearner
    representation_: CachedDescriber

    def __init__(
        self,
        representation: str = "visterms",
        learner: str = "OASIS",
        *,
        words: int | None = None,
        parameters: Mapping[str, object] | None = None,
        hold_out: float = 0.0,
        random_state: int = 0,
        jobs: int | None = None,
        cache: PathLike | None = None,
        progress: StageProgress | None = None,
    ) -> None:
        self.representation = representation
        self.learner = learner
        self.words = words
        self.parameters = dict(parameters or {})
        self.hold_out = hold_out
        self.random_state = random_state
        self.jobs = jobs or os.cpu_count() or 1
        self._cache = Cache(None if cache is None else Path(cache))
        self.progress = progress or silent
        self.seconds_: dict[str, float] = {}
        self.triplets_left_out_ = 0
        self.n_triplets_ = 0
        self.provenance_: dict[str, str] = {}
        self.reduction_: Arrays = {}

    def fit(self, folder: PathLike, labels: Table | None = None, triplets: Table | None = None) -> Self:
        """Learn from a folder of images.

        Parameters
        ----------
        folder : path-like
            One folder per class; with `labels` or `triplets`, the folder that their paths start from.
        labels : path-like or DataFrame, optional
            Columns ``path`` and ``label``.
        triplets : path-like or DataFrame, optional
            Columns ``query``, ``positive`` and ``negative``, paths of images.

        Returns
        -------
        self
        """
        name = learning.learner_name(self.learner)
        learning.check_learner(name, triplets=triplets is not None)
        settings = learning.checked_settings(name, self.parameters)
        if not 0 <= self.hold_out < 1:
            raise LookalikeError(f"the held-out share must be from 0 to below 1, not {self.hold_out}: try 0.25")
        representation = self._make_representation()
        self.seconds_ = {}
        with self._timed("reading images"):
            found = self._read(folder, labels, triplets)
        roles = choose_roles(found, self.hold_out, self.random_state)
        train_rows = np.flatnonzero(roles == TRAIN)
        with self._timed("describing images"):
            vectors = representation.fit(*found.files(train_rows), self.random_state, self._work())
        self.representation_ = representation
        self.reduction_ = fit_components(vectors, self.random_state)
        rows = onto_components(vectors, self.reduction_)
        classes, kept = found.images["label"].to_numpy(str)[train_rows], None
        if found.triplets is not None:
            named = found.triplets[(roles[found.triplets] == TRAIN).all(axis=1)]
            kept = np.searchsorted(train_rows, named).astype(np.int32)
        self.n_triplets_ = 0 if kept is None else len(kept)
        self.progress(f"learning ({name})", 0, 1)
        with self._timed("learning"):
            self.learner_ = learning.train(
                name, settings, rows, y=classes, triplets=kept, seed=self.random_state, jobs=self.jobs
            )
        self.progress(f"learning ({name})", 1, 1)
        self.learner = name
        self.images_ = found.images[["path", "label", "sha256"]].assign(role=roles)
        self.left_out_, self.triplets_left_out_ = found.left_out, found.triplets_left_out
        self.provenance_ = _made_now()
        return self

    def rank(
        self, queries: Sequence[PathLike], gallery: PathLike, k: int = 10, *, learned: bool = True
    ) -> pd.DataFrame:
        """Find the images of a folder that are most like each query.

        Parameters
        ----------
        queries : sequence of path-like
            Image files, in the folder or elsewhere; one that is named twice is one query. Those that cannot be used are
            left out with a warning, if there are others.
        gallery : path-like
            A folder with images at any depth. Images of the same content as a query are no neighbours of it.
        k : int, default=10
            Neighbours; fewer where the gallery has fewer.
        learned : bool, default=True
            False ranks by the Euclidean distance of the same representation, as before learning.

        Returns
        -------
        DataFrame
            ``query``, ``rank`` (from 1), ``path`` (relative to `gallery`), ``score`` (larger is more alike), ``label``
            (the folder in the gallery that the image lies in).
        """
        return self.rank_both(queries, gallery, k, which=(learned,))[learned]

    def rank_both(
        self, queries: Sequence[PathLike], gallery: PathLike, k: int = 10, *, which: Sequence[bool] = (True, False)
    ) -> dict[bool, pd.DataFrame]:
        """Rank as `rank` does, after learning (True) and before it (False), reading images once."""
        self._check_fitted()
        if k < 1:
            raise LookalikeError(f"a ranking needs at least 1 neighbour, not {k}")
        names = list(dict.fromkeys(os.fspath(query) for query in queries))
        asked = read_files(names, n_threads=self.jobs)
        wanted, n_bad = asked.images, len(asked.left_out)
        if n_bad:  # nothing in the rankings shows that one is lacking
            warnings.warn(f"{n_bad:,} of {len(names):,} queries left out{first_reason(asked.left_out)}", stacklevel=2)
        found = read_images(gallery, n_threads=self.jobs, progress=partial(self.progress, "reading images"))
        self.left_out_ = pd.concat([asked.left_out, found.left_out], ignore_index=True)
        files = dict(zip(found.images["sha256"], found.paths, strict=True))
        files |= dict(zip(wanted["sha256"], map(Path, wanted["path"]), strict=True))
        raw = self.representation_.describe(list(files.values()), list(files), self._work())
        place = {name: row for row, name in enumerate(files)}
        query_rows, gallery_rows = (table["sha256"].map(place).to_numpy() for table in (wanted, found.images))
        ranked = {}
        for learned in which:
            learner, rows = self._side(raw, learned)
            ranked[learned] = nearest(learner, (wanted, rows[query_rows]), (found.images, rows[gallery_rows]), k)
        return ranked

    def evaluate(
        self,
        folder: PathLike,
        labels: Table | None = None,
        triplets: Table | None = None,
        *,
        ks: Sequence[int] = PRECISION_AT,
        everything: bool = False,
    ) -> pd.DataFrame:
        """Compare the learned similarity with the Euclidean distance of the same representation.

        Images that were learned from, known by their content, are passed over as long as others can be evaluated.

        Parameters
        ----------
        folder, labels, triplets
            As of `fit`.
        ks : sequence of int, default=(1, 5, 10)
            Where precision is measured.
        everything : bool, default=False
            Evaluate images that were learned from too.

        Returns
        -------
        DataFrame
            ``method`` (the learner, Euclidean), ``measure`` (``map``, ``precision@1``... or ``triplets ordered``),
            ``value``, ``low``, ``high`` (95% interval over queries), ``queries``. Its ``attrs`` say how many ``images``
            (and ``triplets``) were evaluated, how many of them the model has ``learned_from``, and how many were
            ``passed_over`` because it has.
        """
        self._check_fitted()
        found = self._read(folder, labels, triplets)
        self.left_out_ = found.left_out
        seen = found.images["sha256"].isin(self.images_.loc[self.images_["role"] == TRAIN, "sha256"]).to_numpy()
        rows, judged, counts = choose_evaluated(found, seen, everything=everything)
        raw, name = self.representation_.describe(*found.files(rows), self._work()), type(self.learner_).__name__
        baseline = BASELINE if name != BASELINE else f"{BASELINE} (untrained)"
        sides = {name: self._side(raw, True), baseline: self._side(raw, False)}
        if judged is not None:
            table = learning.compare_on_triplets(sides, judged, self.random_state)
        else:
            classes = found.images["label"].to_numpy(str)[rows]
            table = learning.compare_on_labels(sides, classes, ks, self.random_state)
        table.attrs.update(counts)
        return table

    def vectors(self, folder: PathLike) -> tuple[Vectors, pd.DataFrame]:
        """Describe the images of a folder, as they are before learning.

        Parameters
        ----------
        folder : path-like
            With images at any depth.

        Returns
        -------
        vectors : csr_array or ndarray of shape (n, d), float32
            Rows of unit length.
        images : DataFrame
            ``path``, ``label``, ``sha256``, ``width``, ``height`` of each row.
        """
        found = read_images(folder, n_threads=self.jobs, progress=partial(self.progress, "reading images"))
        self.left_out_ = found.left_out
        if not hasattr(self, "representation_"):
            representation = self._make_representation()
            once = distinct(found)
            once = once if len(once.images) else found
            representation.fit(*once.files(np.arange(len(once.images))), self.random_state, self._work())
            self.representation_ = representation
        raw = self.representation_.describe(found.paths, found.images["sha256"].tolist(), self._work())
        return self.representation_.describer.weigh(raw), found.images

    def counts(self, folder: PathLike, pool: float = 0.25) -> tuple[sp.csr_array, pd.DataFrame]:
        """Count the visterms of the images of a folder, as the category study learns from them.

        Parameters
        ----------
        folder : path-like
            With images at any depth.
        pool : float, default=0.25
            Share of each label's images that palette and codebook are learned from.

        Returns
        -------
        counts : csr_array of shape (n, n_words), int32
        images : DataFrame
            As of `vectors`, and ``in_pool``: whether the codebook was learned from an image.

        Raises
        ------
        LookalikeError
            If the representation is not of visterms.
        """
        self.representation_ = self._make_representation()
        if self.representation_.describer.system != BagOfVisterms.system:
            raise LookalikeError(f"{self.representation} has no visterms: use visterms, or a model of them")
        refuse_parts(Path(folder))  # the labels are those of classes
        found = read_images(folder, n_threads=self.jobs, progress=partial(self.progress, "reading images"))
        self.left_out_, names = found.left_out, found.images["sha256"]
        if self.representation_.learned:
            known = ImageSimilarity.load(self.representation).images_
            learned_from = known.loc[known["role"] == TRAIN, "sha256"]
        else:
            listed = found.images.assign(image_id=range(len(names)), status="ok")
            rows = draw_codebook_pool(listed, share=pool, keep=1, seed=self.random_state)["image_id"].to_numpy()
            learned_from = names.iloc[rows]
            self.representation_.fit(*found.files(rows), self.random_state, self._work())
        counts = self.representation_.describe(found.paths, names.tolist(), self._work())
        return sp.csr_array(counts), found.images.assign(in_pool=names.isin(learned_from))

    def save(self, path: PathLike) -> None:
        """Write the model file.

        Parameters
        ----------
        path : path-like
            Ends in ``.lookalike``.
        """
        about = self.about()
        about["images"] = {name: self.images_[name].tolist() for name in self.images_.columns}
        about["left_out"] = self.left_out_.to_dict(orient="list")
        arrays = {f"representation.{name}": array for name, array in self.representation_.describer.arrays().items()}
        arrays |= {f"reduction.{name}": array for name, array in self.reduction_.items()}
        write_similarity(path, about, arrays, self.learner_)

    @classmethod
    def load(cls, path: PathLike, **how: Any) -> Self:
        """Read a model file.

        Parameters
        ----------
        path : path-like
        **how
            ``jobs``, ``cache`` and ``progress`` of the constructor.

        Returns
        -------
        ImageSimilarity
        """
        about, arrays, learner = read_similarity(path)
        with fits_together(path, SIMILARITY):
            described, learned = about["representation"], about["learner"]
            chosen = {"hold_out": about["hold_out"], "random_state": about["seed"]}
            model = cls(described["name"], learned["name"], **chosen, **how)
            try:
                model.representation_ = make_representation(described["name"], **described["settings"])
            except LookalikeError as error:  # which knows no file
                raise ValueError(str(error)) from error
            model.representation_.describer.restore(_part(arrays, "representation."))
            model.representation_.learned = True
            model.reduction_ = _part(arrays, "reduction.")
            model.learner_ = learner
            model.images_ = pd.DataFrame(about["images"])[["path", "label", "sha256", "role"]].astype(str)
            model.left_out_ = pd.DataFrame(about["left_out"], columns=["path", "reason"])
            model.n_triplets_, model.triplets_left_out_ = about["n_triplets"], about["triplets_left_out"]
            model.seconds_, model.provenance_ = dict(about["seconds"]), about["made_by"]
            model._check_parts()
            if _decided(about) != _decided(model.about()):
                raise ValueError("what it says of itself is not what it holds")
        return model

    def about(self) -> About:
        """Return what can be said of a fitted model, as JSON holds it: what ``lookalike info --json`` prints."""
        self._check_fitted()
        train = self.images_[self.images_["role"] == TRAIN]
        learner, describer = self.learner_, self.representation_.describer
        components = self.reduction_.get("components")
        fitted = {name: getattr(learner, f"{name}_", None) for name in ("n_steps", "n_updates", "n_iter", "metric")}
        return {
            "format": SIMILARITY.name,
            "format_version": SIMILARITY.versions[-1],
            "representation": {
                "name": describer.system,
                "dimensions": describer.n_dimensions,
                "settings": {name: _plain(value) for name, value in describer.settings().items()},
                "learned_components": None if components is None else len(components),
            },
            "learner": {
                "name": type(learner).__name__,
                "parameters": {name: _plain(value) for name, value in learner.get_params(deep=False).items()},
                **{name: _plain(value) for name, value in fitted.items() if value is not None},
            },
            "learned_from": "triplets" if self.n_triplets_ else "labels",
            "n_images": len(train),
            "n_held_out": len(self.images_) - len(train),
            "n_left_out": len(self.left_out_),
            "n_triplets": self.n_triplets_,
            "triplets_left_out": self.triplets_left_out_,
            "hold_out": self.hold_out,
            "classes": {str(name): int(n) for name, n in train["label"].value_counts().sort_index().items() if name},
            "seed": int(self.random_state),
            "seconds": {name: round(seconds, 3) for name, seconds in self.seconds_.items()},
            "made_by": self.provenance_,
        }

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            raise LookalikeError("nothing has been learned yet: call fit, or load a model")

    def _check_parts(self) -> None:
        """Refuse parts of a file that are not of one model, and parameters that are not of the learner's kinds."""
        n_dimensions = self.representation_.describer.n_dimensions
        if self.reduction_:
            mean, components = self.reduction_["mean"], self.reduction_["components"]
            if mean.shape != (n_dimensions,) or components.ndim != 2 or components.shape[1] != n_dimensions:
                raise ValueError("the components are not of the representation")
        raw: Vectors = np.ones((1, n_dimensions), np.float32)
        if isinstance(self.representation_.describer, BagOfVisterms):
            raw = sp.csr_array(raw)
        learner, row = self._side(raw, True)
        with np.errstate(all="ignore"):
            if np.shape(learner.similarity(row, row)) != (1, 1):
                raise ValueError("the learner's arrays are not of its dimensions")
        name = type(self.learner_).__name__
        defaults = learning.learner_defaults(name)
        for key, value in self.learner_.get_params(deep=False).items():
            if not learning.is_like(value, defaults[key]):
                raise ValueError(f"{key} of {name} cannot be {value!r}")
        self.learner_._check_parameters()

    def _make_representation(self) -> CachedDescriber:
        """Return the representation asked for, which may have learned already."""
        if str(self.representation).endswith(SUFFIX):
            if self.words is not None:
                raise LookalikeError(f"the words of {self.representation} are fixed: leave --words out")
            return ImageSimilarity.load(self.representation).representation_
        return make_representation(str(self.representation), self.words)

    def _read(self, folder: PathLike, labels: Table | None, triplets: Table | None) -> ImageSet:
        """Read images with their triplets or labels, of tables or of class folders."""
        progress = partial(self.progress, "reading images")
        if labels is not None and triplets is not None:
            raise LookalikeError("give labels or triplets, not both")
        if triplets is not None:
            return read_triplets(folder, triplets, n_threads=self.jobs, progress=progress)
        if labels is not None:
            found = read_labels(folder, labels, n_threads=self.jobs, progress=progress)
        else:
            found = read_class_folders(folder, n_threads=self.jobs, progress=progress)
        if found.images.empty:
            reason = first_reason(found.left_out)
            raise LookalikeError(f"no image of {folder} can be used{reason}: give each image one label")
        return found

    def _work(self) -> Workers:
        return Workers(self.jobs, self._cache, self.progress)

    def _side(self, raw: Vectors, learned: bool) -> tuple[SimilarityLearner, Vectors]:
        """Return what compares descriptions, and the rows that it takes."""
        rows = self.representation_.describer.weigh(raw)
        rows = onto_components(rows, self.reduction_) if learned else rows
        if not np.isfinite(rows.data if is_sparse(rows) else rows).all():
            raise LookalikeError("the model describes images by NaN or infinity: fit it again")
        return (self.learner_ if learned else Euclidean().fit(rows)), rows

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds_[what] = time.perf_counter() - start


def _made_now() -> dict[str, str]:
    """Return the time, and the versions that decide a model's numbers."""
    found = {"lookalike": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "faiss-cpu", "numba", "pillow"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), **found}


def _decided(about: Mapping[str, object]) -> dict[str, object]:
    """Return what a file says that its parts decide; settings may be written in another way by another version."""
    others: Any = dict.fromkeys(("format_version", "seconds", "made_by"), True)
    others |= {"representation": {"settings"}, "learner": {"parameters"}}
    return Header.model_validate(about).model_dump(exclude=others)


def _part(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin so, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _plain(value: object) -> object:
    """Return a parameter as JSON holds it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
