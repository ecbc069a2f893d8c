"""`ImageSimilarity`: from a folder of one's own images to a similarity, rankings, numbers and a model file.

What the commands ``fit``, ``rank``, ``evaluate``, ``features`` and ``info`` do, for use from Python.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from lookalike.errors import LookalikeError
from lookalike.own_images.representations import Representation, make_representation, restore_representation, unit_rows
from lookalike.own_images.sources import (
    ImageSet,
    distinct,
    read_class_folders,
    read_files,
    read_images,
    read_labels,
    read_triplets,
)

if TYPE_CHECKING:
    import pandas as pd

MOST_COMPONENTS = 256
"""Principal components that long dense descriptions are brought to before learning: W has their square."""

TRAIN, HELD_OUT = "train", "held-out"
BASELINE = "Euclidean"
PRECISION_AT = (1, 5, 10)

_MOST_ROWS = 2000  # that principal components are found from

Progress = Callable[[str, int, int], None]
PathLike = str | os.PathLike[str]
Vectors = Any


class ImageSimilarity:
    """A similarity of images, learned from one's own.

    Parameters
    ----------
    representation : str, default="visterms"
        How images are described: ``"visterms"`` as in the category study, a describer of the fine-grained study
        (``"hog"``, ``"fisher"``, ``"color"``...), or the path of a model file, whose codebook is taken over.
    learner : str, default="OASIS"
        Any of `lookalike.learners` that learns from what is there.
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
    representation_ : Representation
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
    learner_: Any
    representation_: Representation

    def __init__(
        self,
        representation: str = "visterms",
        learner: str = "OASIS",
        *,
        words: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        hold_out: float = 0.0,
        random_state: int = 0,
        jobs: int | None = None,
        cache: PathLike | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.representation = representation
        self.learner = learner
        self.words = words
        self.parameters = dict(parameters or {})
        self.hold_out = hold_out
        self.random_state = random_state
        self.jobs = jobs or os.cpu_count() or 1
        self.cache = None if cache is None else Path(cache)
        self.progress = progress
        self.seconds_: dict[str, float] = {}
        self.triplets_left_out_ = 0
        self.n_triplets_ = 0
        self.made_: dict[str, Any] = {}
        self._reduction: dict[str, npt.NDArray[Any]] = {}

    def fit(self, folder: PathLike, labels: Any = None, triplets: Any = None) -> Self:
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

        Raises
        ------
        LookalikeError
            When the input, the representation or the learner's settings cannot be used.
        """
        from lookalike.own_images.learning import check_learner, checked_settings, learner_name, train

        name = learner_name(self.learner)
        check_learner(name, triplets=triplets is not None)
        settings = checked_settings(name, self.parameters)
        if not 0 <= self.hold_out < 1:
            raise LookalikeError(f"the share that is held out is from 0 to below 1, not {self.hold_out}: try 0.25")
        representation, fitted = self._make_representation()
        self.seconds_ = {}
        with self._timed("reading images"):
            found = self._read(folder, labels, triplets)
        roles = self._roles(found)
        train_rows = np.flatnonzero(roles == TRAIN)
        with self._timed("describing images"):
            vectors = self._fit_representation(representation, found, train_rows, fitted)
        self.representation_ = representation
        rows = self._fit_reduction(vectors)
        kwargs: dict[str, Any] = {"y": found.images["label"].to_numpy(str)[train_rows]}
        if found.triplets is not None:
            kept = found.triplets[(roles[found.triplets] == TRAIN).all(axis=1)]
            number = np.full(len(roles), -1, np.int32)
            number[train_rows] = np.arange(len(train_rows), dtype=np.int32)
            kwargs = {"triplets": number[kept]}
            self.n_triplets_ = len(kept)
        self._tell(f"learning ({name})", 0, 1)
        with self._timed("learning"):
            self.learner_ = train(name, settings, rows, seed=self.random_state, jobs=self.jobs, **kwargs)
        self._tell(f"learning ({name})", 1, 1)
        self.learner = name
        self.images_ = found.images[["path", "label", "sha256"]].assign(role=roles)
        self.left_out_, self.triplets_left_out_ = found.left_out, found.triplets_left_out
        self.made_ = _made()
        return self

    def rank(
        self, queries: Sequence[PathLike], gallery: PathLike, k: int = 10, *, learned: bool = True
    ) -> pd.DataFrame:
        """Find the images of a folder that are most like each query.

        Parameters
        ----------
        queries : sequence of path-like
            Image files, in the folder or elsewhere.
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

        Raises
        ------
        LookalikeError
            When a query or the gallery cannot be used.
        """
        return self.rank_both(queries, gallery, k, which=(learned,))[learned]

    def rank_both(
        self, queries: Sequence[PathLike], gallery: PathLike, k: int = 10, *, which: Sequence[bool] = (True, False)
    ) -> dict[bool, pd.DataFrame]:
        """Rank as `rank` does, after learning (True) and before it (False), reading images once."""
        import pandas as pd

        self._check_fitted()
        if k < 1:
            raise LookalikeError(f"there is no ranking of {k} neighbours: ask for at least 1")
        wanted = read_files(queries, n_threads=self.jobs)
        found = read_images(gallery, n_threads=self.jobs, progress=self._told("reading images"))
        self.left_out_ = found.left_out
        files = {**dict(zip(found.images["sha256"], found.paths, strict=True))}
        files |= dict(zip(wanted["sha256"], map(Path, wanted["path"]), strict=True))
        names = list(files)
        raw = self._describe(list(files.values()), names)
        place = {name: row for row, name in enumerate(names)}
        of_gallery = found.images["sha256"].map(place).to_numpy()
        of_queries = wanted["sha256"].map(place).to_numpy()
        shas = found.images["sha256"].to_numpy(str)
        ranked = {}
        for learned in which:
            learner, rows = self._side(raw, learned)
            parts = []
            for number, row in enumerate(of_queries):
                others = np.flatnonzero(shas != wanted["sha256"][number])
                if not len(others):
                    raise LookalikeError(f"{gallery} holds no image but the query itself: give a folder of others")
                found_rows, scores = learner.rank(rows[[row]], rows[of_gallery[others]], min(k, len(others)))
                best = found.images.iloc[others[found_rows[0]]]
                parts.append(
                    pd.DataFrame(
                        {
                            "query": wanted["path"][number],
                            "rank": range(1, len(best) + 1),
                            "path": best["path"].to_numpy(),
                            "score": scores[0].astype(np.float64),
                            "label": best["label"].to_numpy(),
                        }
                    )
                )
            ranked[learned] = pd.concat(parts, ignore_index=True)
        return ranked

    def evaluate(
        self,
        folder: PathLike,
        labels: Any = None,
        triplets: Any = None,
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

        Raises
        ------
        LookalikeError
            When the input cannot be used.
        """
        from lookalike.own_images.evaluating import compare_on_labels, compare_on_triplets

        self._check_fitted()
        found = self._read(folder, labels, triplets)
        self.left_out_ = found.left_out
        seen = found.images["sha256"].isin(self.images_.loc[self.images_["role"] == TRAIN, "sha256"]).to_numpy()
        attributes: dict[Any, Any] = {}
        if found.triplets is None:
            fresh = found.images["label"][~seen]
            usable = not everything and bool((fresh.value_counts() > 1).any())
            rows = np.flatnonzero(~seen) if usable else np.arange(len(seen))
            sides = self._sides(found, rows)
            table = compare_on_labels(sides, found.images["label"].to_numpy(str)[rows], ks, self.random_state)
            evaluated = np.isin(np.arange(len(seen)), rows)
        else:
            queries_seen = seen[found.triplets[:, 0]]
            usable = not everything and not bool(queries_seen.all())
            kept = found.triplets[~queries_seen] if usable else found.triplets
            rows = np.unique(kept)
            sides = self._sides(found, rows)
            table = compare_on_triplets(sides, np.searchsorted(rows, kept).astype(np.int32), self.random_state)
            attributes = {"triplets": len(kept), "triplets_passed_over": len(found.triplets) - len(kept)}
            # of a triplet, what counts is whether its query was learned from
            seen = seen & np.isin(np.arange(len(seen)), found.triplets[:, 0])
            evaluated = np.isin(np.arange(len(seen)), kept[:, 0])
        table.attrs = {
            "images": len(rows),
            "learned_from": int((seen & evaluated).sum()),
            "passed_over": int((seen & ~evaluated).sum()),
            **attributes,
        }
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
        found = read_images(folder, n_threads=self.jobs, progress=self._told("reading images"))
        self.left_out_ = found.left_out
        if not hasattr(self, "representation_"):
            representation, fitted = self._make_representation()
            once = distinct(found)
            once = once if len(once.images) else found
            self._fit_representation(representation, once, np.arange(len(once.images)), fitted)
            self.representation_ = representation
        raw = self._describe(found.paths, found.images["sha256"].tolist())
        return self.representation_.weigh(raw), found.images

    def save(self, path: PathLike) -> None:
        """Write the model file; see `lookalike.own_images.model_file`.

        Parameters
        ----------
        path : path-like
            Ends in ``.lookalike``.

        Raises
        ------
        LookalikeError
            When it cannot be written.
        """
        from lookalike.own_images.model_file import write_model

        self._check_fitted()
        about = self.about()
        about["images"] = {name: self.images_[name].tolist() for name in self.images_.columns}
        about["left_out"] = self.left_out_.to_dict(orient="list")
        arrays = {f"representation.{name}": array for name, array in self.representation_.arrays().items()}
        arrays |= {f"reduction.{name}": array for name, array in self._reduction.items()}
        write_model(path, about, arrays, self.learner_)

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

        Raises
        ------
        LookalikeError
            When it is missing, damaged, none of ours, or of a later version.
        """
        import pandas as pd

        from lookalike.own_images.model_file import read_model

        stored = read_model(path)
        about = stored.about
        try:
            described, learned = about["representation"], about["learner"]
            model = cls(
                described["name"],
                learned["name"],
                hold_out=about["hold_out"],
                random_state=int(about["seed"]),
                **how,
            )
            arrays = _part(stored.arrays, "representation.")
            model.representation_ = restore_representation(described["name"], described["settings"], arrays)
            model._reduction = _part(stored.arrays, "reduction.")
            model.learner_ = stored.learner
            model.images_ = pd.DataFrame(about["images"])[["path", "label", "sha256", "role"]].astype(str)
            model.left_out_ = pd.DataFrame(about["left_out"], columns=["path", "reason"])
            model.n_triplets_, model.triplets_left_out_ = about["n_triplets"], about["triplets_left_out"]
            model.seconds_, model.made_ = dict(about["seconds"]), about["made_by"]
            model._check_consistent()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LookalikeError(
                f"{path} lacks a part of a model, or its parts do not fit ({error}): fit the model anew"
            ) from error
        return model

    def about(self) -> dict[str, Any]:
        """Return what can be said of a fitted model, as JSON holds it: what ``lookalike info --json`` prints."""
        from lookalike.own_images.model_file import FORMAT, FORMAT_VERSION

        self._check_fitted()
        train = self.images_[self.images_["role"] == TRAIN]
        parameters = self.learner_.get_params(deep=False)
        fitted = {
            name.rstrip("_"): getattr(self.learner_, name)
            for name in ("n_steps_", "n_updates_", "n_iter_", "metric_")
            if hasattr(self.learner_, name)
        }
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "representation": {
                "name": self.representation_.name,
                "dimensions": self.representation_.n_dimensions,
                "settings": self.representation_.settings(),
                "learned_components": len(self._reduction["components"]) if self._reduction else None,
            },
            "learner": {
                "name": type(self.learner_).__name__,
                "parameters": {name: _plain(value) for name, value in parameters.items()},
                **{name: _plain(value) for name, value in fitted.items()},
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
            "made_by": self.made_,
        }

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            raise LookalikeError("this similarity has learned nothing yet: call fit, or load a model")

    def _check_consistent(self) -> None:
        """Refuse parts that are not of one model."""
        n_rows = self.representation_.n_dimensions
        if self._reduction:
            mean, components = self._reduction["mean"], self._reduction["components"]
            if mean.shape != (n_rows,) or components.ndim != 2 or components.shape[1] != n_rows:
                raise ValueError("the components are not of the representation")
            n_rows = len(components)
        if getattr(self.learner_, "n_features_in_", n_rows) != n_rows:
            raise ValueError("the learner is not of the representation")

    def _make_representation(self) -> tuple[Representation, bool]:
        """Return the representation asked for, and whether it has learned already."""
        if str(self.representation).endswith(".lookalike"):
            if self.words is not None:
                raise LookalikeError(f"the words of {self.representation} are what they are: leave --words out")
            return ImageSimilarity.load(self.representation).representation_, True
        return make_representation(str(self.representation), self.words), False

    def _read(self, folder: PathLike, labels: Any, triplets: Any) -> ImageSet:
        told = self._told("reading images")
        if labels is not None and triplets is not None:
            raise LookalikeError("labels and triplets cannot be learned from at once: give one of the two")
        if triplets is not None:
            return read_triplets(folder, triplets, n_threads=self.jobs, progress=told)
        if labels is not None:
            return read_labels(folder, labels, n_threads=self.jobs, progress=told)
        return read_class_folders(folder, n_threads=self.jobs, progress=told)

    def _roles(self, found: ImageSet) -> npt.NDArray[np.str_]:
        """Decide which images are learned from."""
        from lookalike.learners._online import held_out_rows
        from lookalike.seeds import generator

        roles = np.full(len(found.images), TRAIN, dtype="U8")
        rng = generator(self.random_state, "own images", "held out")
        if found.triplets is None:
            labels = found.images["label"].to_numpy(str)
            _check_classes(labels, found.root)
            if self.hold_out:
                try:
                    roles[held_out_rows(labels, self.hold_out, rng)] = HELD_OUT
                except ValueError:
                    raise LookalikeError(
                        "no class has four images, two to hold out and two to learn from: give more, or hold none out"
                    ) from None
        elif self.hold_out:
            queries = np.unique(found.triplets[:, 0])
            roles[rng.permutation(queries)[: max(1, round(self.hold_out * len(queries)))]] = HELD_OUT
            kept = (roles[found.triplets] == TRAIN).all(axis=1)
            if not kept.any():
                raise LookalikeError(
                    "no triplet is left to learn from once queries are held out: give more, or hold fewer out"
                )
            # an image that only held-out triplets name is not learned from either
            rest = np.setdiff1d(np.arange(len(roles)), found.triplets[kept])
            roles[rest] = HELD_OUT
        return roles

    def _fit_representation(
        self, representation: Representation, found: ImageSet, rows: npt.NDArray[np.intp], fitted: bool
    ) -> Vectors:
        paths, names = found.paths, found.images["sha256"].tolist()
        paths, names = [paths[row] for row in rows], [names[row] for row in rows]
        how: dict[str, Any] = {"jobs": self.jobs, "cache": self.cache, "progress": self.progress}
        if fitted:
            return representation.rows(paths, names, **how)
        return representation.fit(paths, names, seed=self.random_state, **how)

    def _describe(self, paths: Sequence[Path], names: Sequence[str]) -> Vectors:
        return self.representation_.describe(paths, names, jobs=self.jobs, cache=self.cache, progress=self.progress)

    def _sides(self, found: ImageSet, rows: npt.NDArray[np.intp]) -> dict[str, tuple[Any, Vectors]]:
        paths, names = found.paths, found.images["sha256"].tolist()
        raw = self._describe([paths[row] for row in rows], [names[row] for row in rows])
        name = type(self.learner_).__name__
        baseline = BASELINE if name != BASELINE else f"{BASELINE} (untrained)"
        return {name: self._side(raw, True), baseline: self._side(raw, False)}

    def _side(self, raw: Vectors, learned: bool) -> tuple[Any, Vectors]:
        """Return what compares descriptions, and the rows that it takes."""
        from lookalike.learners import Euclidean

        rows = self.representation_.weigh(raw)
        return (self.learner_, self._reduce(rows)) if learned else (Euclidean().fit(rows), rows)

    def _fit_reduction(self, vectors: Vectors) -> Vectors:
        """Find the principal components of long dense rows; sparse ones stay as they are."""
        from sklearn.decomposition import PCA

        from lookalike.features._clustering import one_thread
        from lookalike.seeds import generator

        self._reduction = {}
        if hasattr(vectors, "indptr") or vectors.shape[1] <= MOST_COMPONENTS:
            return vectors
        order = generator(self.random_state, "own images", "components").permutation(len(vectors))
        chosen = vectors[np.sort(order[:_MOST_ROWS])]
        with one_thread():
            found = PCA(min(MOST_COMPONENTS, len(chosen) - 1), svd_solver="full").fit(chosen.astype(np.float64))
        self._reduction = {
            "mean": found.mean_.astype(np.float32),
            "components": np.ascontiguousarray(found.components_, dtype=np.float32),
        }
        return self._reduce(vectors)

    def _reduce(self, rows: Vectors) -> Vectors:
        if not self._reduction:
            return rows
        return unit_rows((rows - self._reduction["mean"]) @ self._reduction["components"].T)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def _told(self, what: str) -> Callable[[int, int], None]:
        return lambda done, total: self._tell(what, done, total)

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds_[what] = time.perf_counter() - start


def _check_classes(labels: npt.NDArray[Any], root: Path) -> None:
    """Refuse labels that nothing can be learned from."""
    names, sizes = np.unique(labels, return_counts=True)
    if len(names) < 2:
        only = f"only {names[0]}" if len(names) else "none"
        raise LookalikeError(f"a similarity is learned from two classes or more, and {root} has {only}: add another")
    if sizes.max() < 2:
        raise LookalikeError(f"every class of {root} has a single image: give at least two images of some class")


def _made() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    from lookalike import __version__

    found = {"lookalike": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "faiss-cpu", "numba", "pillow"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), **found}


def _part(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
