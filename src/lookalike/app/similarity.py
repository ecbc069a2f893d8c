"""`Similarity`: from one's own images or vectors to a similarity, rankings, numbers and a model file."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize

from lookalike import __version__
from lookalike.app import learning
from lookalike.app.cache import Cache
from lookalike.app.choice import choose_learner, too_long, worse_than_none
from lookalike.app.learning import HELD_OUT, MIXED, TRAIN, choose_evaluated, choose_roles, fit_components, nearest
from lookalike.app.model_file import SIMILARITY, Header, read_similarity, write_similarity
from lookalike.app.representations import (
    CachedDescriber,
    GivenVectors,
    LostImages,
    Workers,
    make_representation,
    onto_components,
    restored_representation,
)
from lookalike.app.rows import FORMATS, Rows, is_vectors, read_vectors
from lookalike.app.sources import (
    Table,
    distinct,
    first_reason,
    read_class_folders,
    read_files,
    read_images,
    read_labels,
    read_triplets,
)
from lookalike.core.arrays import Ints, Texts
from lookalike.core.errors import LookalikeError, short_name
from lookalike.core.files import PathLike
from lookalike.core.model_file import SUFFIX, About, Arrays, fits_together
from lookalike.core.seeds import generator
from lookalike.data.scan import refuse_parts
from lookalike.data.splits import draw_codebook_pool
from lookalike.features.bag_of_visterms import BagOfVisterms
from lookalike.features.describers import StageProgress, Vectors, silent
from lookalike.learners.base import IN_FLOAT32, SimilarityLearner, is_sparse, largest_value
from lookalike.learners.euclidean import Euclidean
from lookalike.learners.online import can_hold_out
from lookalike.learners.tfidf import TFIDF

BASELINE, COSINE = "Euclidean", "cosine"
MOST_COMPARED = 2_000
"""Held-out rows that tell at the end of a fit whether learning has made ranking worse."""
PRECISION_AT = (1, 5, 10)
_STORED = ["path", "label", "sha256", "role"]  # columns of `rows_` as model files call them
P = ParamSpec("P")
T = TypeVar("T")


def _leaving_out_lost(method: Callable[P, T]) -> Callable[P, T]:
    """Call a method of `Similarity` again where images were changed or removed since it read them, without these."""

    @wraps(method)
    def call(*args: P.args, **how: P.kwargs) -> T:
        model: Any = args[0]
        try:
            while True:  # each time, there are fewer images
                try:
                    return method(*args, **how)
                except LostImages as error:
                    model._lost |= error.reasons
        finally:
            model._lost = {}

    return call


class Similarity:
    """A similarity learned from one's own images or vectors; what cannot be used is a `LookalikeError`, one sentence.

    A source of rows is a folder of images, a file of vectors (`lookalike.app.rows.read_vectors`), or `Rows`.

    Parameters
    ----------
    representation : str, optional
        How images are described: ``"visterms"`` as in the category study (the default), a describer of the fine-grained
        study (``"hog"``, ``"fisher"``, ``"color"``...), or the path of a model file, whose codebook is taken over.
        Vectors are ``"vectors"``: their mean is taken from them, if they are dense, and they are divided by the mean
        length, neither of which changes their order before learning.
    learner : str, optional
        One of `lookalike.learners` that learns from what is there. By default `lookalike.app.choice.choose_learner`
        chooses by the rows; with `parameters` it is ``"OASIS"``.
    words : int, optional
        Words of the codebook of visterms; by default suited to the number of images.
    parameters : mapping, optional
        Settings of the learner. Without ``n_steps`` or ``early_stopping``, online learners choose their number of steps
        by rows that they set aside.
    hold_out : float, default=0.0
        Share of every class (of triplets: of the query rows) that nothing is learned from, for `evaluate`.
    random_state : int, default=0
        Root of every random draw.
    jobs : int, optional
        Images described at a time, by default as many as there are processors; no result depends on it.
    cache : path-like, optional
        Folder in which descriptions of images are kept from one call to the next.
    progress : callable, optional
        Called as ``progress(what, done, total)``.
    note : callable, optional
        Called with a sentence where a learner was chosen (which, and why) or takes long, and where held-out vectors are
        ranked worse after learning than before.

    Attributes
    ----------
    rows_ : DataFrame
        After `fit`: ``path`` of images or ``id`` of vectors, ``label``, ``content`` (a digest) and ``role`` (train or
        held-out) of the rows.
    left_out_ : DataFrame
        ``path`` (or id) and ``reason`` of what the last call could not use. A model file has what `fit` could not.
    n_triplets_, n_triplets_held_out_ : int
        Triplets that were learned from, and those whose query is held out; 0 with labels.
    triplets_left_out_ : dict of str to int
        How many other triplets there are, by reason.
    learner_ : SimilarityLearner
        The fitted learner.
    representation_ : CachedDescriber
        The fitted representation.
    seconds_ : dict of str to float
        Wall-clock time of every step of the last call. A model file has those of `fit`.

    Examples
    --------
    >>> from lookalike import Similarity
    >>> model = Similarity(hold_out=0.25).fit("vectors.parquet")  # doctest: +SKIP
    >>> model.rank(["id of a row"], "vectors.parquet", k=5)  # doctest: +SKIP
    """

    rows_: pd.DataFrame
    left_out_: pd.DataFrame
    learner_: SimilarityLearner
    representation_: CachedDescriber

    def __init__(
        self,
        representation: str | None = None,
        learner: str | None = None,
        *,
        words: int | None = None,
        parameters: Mapping[str, object] | None = None,
        hold_out: float = 0.0,
        random_state: int = 0,
        jobs: int | None = None,
        cache: PathLike | None = None,
        progress: StageProgress | None = None,
        note: Callable[[str], object] | None = None,
    ) -> None:
        self.representation = representation
        self.learner = learner or ("OASIS" if parameters else None)
        self.note = note or (lambda line: None)
        self.words = words
        self.parameters = dict(parameters or {})
        self.hold_out = hold_out
        self.random_state = random_state
        self.jobs = jobs or os.cpu_count() or 1
        self._cache = Cache(None if cache is None else Path(cache))
        self.progress = progress or silent
        self.seconds_: dict[str, float] = {}
        self.triplets_left_out_: dict[str, int] = {}
        self.n_triplets_ = self.n_triplets_held_out_ = 0
        self.provenance_: dict[str, str] = {}
        self.reduction_: Arrays = {}
        self._fit_seconds: dict[str, float] = {}
        self._fit_left_out = pd.DataFrame()
        self._lost: dict[Path, str] = {}

    def read(
        self,
        source: PathLike | Rows,
        labels: Table | ArrayLike | None = None,
        triplets: Table | None = None,
        *,
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> Rows:
        """Read the rows of a source with their labels or triplets, to learn from them or to evaluate them.

        Parameters
        ----------
        source : path-like or Rows
            A folder of images, one folder per class or, with `labels` or `triplets`, the folder that their paths start
            from; or a file of vectors.
        labels : path-like, DataFrame or array-like, optional
            Columns ``path`` (of vectors: ``id``) and ``label``; of vectors also one label a row.
        triplets : path-like or DataFrame, optional
            Columns ``query``, ``positive`` and ``negative``, paths of images or ids of vectors.
        id_column, label_column : str, optional
            Columns of a file of vectors; ``id`` and ``label`` by default.

        Returns
        -------
        Rows
        """
        if isinstance(source, Rows):
            return self._as_read(source, labels, triplets, id_column, label_column)
        if labels is not None and triplets is not None:
            raise LookalikeError("give labels or triplets, not both")
        self.seconds_ = {}
        if is_vectors(source):
            self._check_kind(os.fspath(source), of_vectors=True)
            with self._timed("reading vectors"):
                columns = {"id_column": id_column, "label_column": label_column}
                rows = read_vectors(source, **columns, labels=labels, triplets=triplets)
            rows.check_related()
            return self._as_learned(rows)
        self._check_kind(os.fspath(source), of_vectors=False)
        if id_column is not None or label_column is not None:
            raise LookalikeError(f"{source} is no file of vectors, so it has no columns: leave their names out")
        if not hasattr(self, "representation_"):
            self._make_representation()  # what cannot be is refused before images are read
        progress = partial(self.progress, "reading images")
        with self._timed("reading images"):
            if triplets is not None:
                found = read_triplets(source, triplets, n_threads=self.jobs, progress=progress)
            elif labels is not None:
                found = read_labels(source, labels, n_threads=self.jobs, progress=progress)
            else:
                found = read_class_folders(source, n_threads=self.jobs, progress=progress)
        if found.images.empty:
            reason = first_reason(found.left_out)
            raise LookalikeError(f"no image of {source} can be used{reason}: give each image one label")
        return Rows.from_images(found.without(self._lost))

    def check_settings(self, *, triplets: bool) -> dict[str, object]:
        """Refuse a learner or a setting that cannot be, before anything is read; return the learner's arguments."""
        if not 0 <= self.hold_out < 1:
            raise LookalikeError(f"the held-out share must be from 0 to below 1, not {self.hold_out}: try 0.25")
        if self.learner is None:
            return {}
        name = learning.learner_name(self.learner)
        learning.check_learner(name, triplets=triplets)
        return learning.checked_settings(name, self.parameters)

    @_leaving_out_lost
    def fit(
        self,
        source: PathLike | Rows,
        labels: Table | ArrayLike | None = None,
        triplets: Table | None = None,
        *,
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> Self:
        """Learn from a source of rows; the parameters are those of `read`.

        Returns
        -------
        self
        """
        by_triplets = (source.triplets if isinstance(source, Rows) else triplets) is not None
        settings = self.check_settings(triplets=by_triplets)
        for part in ("representation_", "learner_", "columns_"):
            vars(self).pop(part, None)  # rows may be of another kind than those of a fit before
        found = self.read(source, labels, triplets, id_column=id_column, label_column=label_column).related()
        roles = choose_roles(found, self.hold_out, self.random_state)
        train_rows = np.flatnonzero(roles == TRAIN)
        learned_from = found.take(train_rows)
        self.representation_, vectors = self._describe_to_learn(learned_from)
        rows = onto_components(vectors, self.reduction_)
        kept = None
        self.n_triplets_ = self.n_triplets_held_out_ = 0
        self.triplets_left_out_ = dict(found.triplets_left_out)
        if found.triplets is not None:
            held_out = roles[found.triplets] == HELD_OUT
            kept = np.searchsorted(train_rows, found.triplets[~held_out.any(axis=1)]).astype(np.int32)
            self.n_triplets_, self.n_triplets_held_out_ = len(kept), int(held_out[:, 0].sum())
            if mixed := len(found.triplets) - self.n_triplets_ - self.n_triplets_held_out_:
                self.triplets_left_out_[MIXED.format(noun=found.noun)] = mixed
        name, settings = self._choose(settings, rows, learned_from.labels, kept)
        self.progress(f"learning ({name})", 0, 1)
        with self._timed("learning"):
            self.learner_ = learning.train(
                name, settings, rows, y=learned_from.labels, triplets=kept, seed=self.random_state, jobs=self.jobs
            )
        self.progress(f"learning ({name})", 1, 1)
        labelled = "" if found.labels is None or kept is not None else found.labels
        facts = {found.key: found.ids, "label": labelled, "content": found.contents, "role": roles}
        self.rows_, self.left_out_, self.columns_ = pd.DataFrame(facts), found.left_out, found.columns
        self._fit_seconds, self._fit_left_out = dict(self.seconds_), found.left_out  # later calls have their own
        self.provenance_ = _made_now() | {"source": Path(os.path.realpath(found.source)).name}
        if found.images is None:
            self._compare_held_out(found, roles)
        return self

    def _choose(
        self, settings: dict[str, object], X: Vectors, y: Texts | None, triplets: Ints | None
    ) -> tuple[str, dict[str, object]]:
        """Return the learner and its settings: those that were named, or what suits the rows; say what takes long."""
        choice = choose_learner(X, None if triplets is not None else y, triplets)
        if self.learner is None:
            self.note(str(choice))
            return choice.name, choice.parameters
        name = learning.learner_name(self.learner)
        if (sentence := too_long(name, X, choice)) is not None:
            self.note(sentence)
        return name, settings

    def _compare_held_out(self, found: Rows, roles: Texts) -> None:
        """Say where some of the held-out rows are ranked worse after learning than before."""
        held_out = np.flatnonzero(roles == HELD_OUT)
        chosen = np.sort(generator(self.random_state, "own images", "compared").permutation(held_out)[:MOST_COMPARED])
        if found.triplets is not None or found.labels is None or not len(chosen):
            return
        with suppress(LookalikeError):  # any order of these rows is right
            (raw,) = self._describe(found.take(chosen))
            sides = self._sides(raw, found, self.learner_)
            table = learning.compare_on_labels(sides, found.labels[chosen], (), self.random_state)
            if (sentence := worse_than_none(table)) is not None:
                self.note(sentence)

    def rank(
        self,
        queries: PathLike | Sequence[PathLike] | Rows,
        gallery: PathLike | Rows,
        k: int = 10,
        *,
        learned: bool = True,
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> pd.DataFrame:
        """Find the rows of a gallery that are most like each query.

        Parameters
        ----------
        queries : path-like, sequence of these, or Rows
            Image files, in the gallery or elsewhere; one that is named twice is one query. Those that cannot be used
            are left out with a warning, if there are others. For vectors, ids of rows of the gallery, or one file of
            vectors.
        gallery : path-like or Rows
            A folder with images at any depth, or a file of vectors. Rows of the same content as a query (the same file,
            the same numbers) are no neighbours of it.
        k : int, default=10
            Neighbours; fewer where the gallery has fewer.
        learned : bool, default=True
            False ranks by the Euclidean distance of the same representation, as before learning.
        id_column, label_column : str, optional
            Columns of a file of vectors, as of `read`.

        Returns
        -------
        DataFrame
            ``query``, ``rank`` (from 1), ``path`` (relative to the folder; of vectors, ``id``), ``score`` (larger is
            more alike), ``label`` (the folder in the gallery that the image lies in).
        """
        columns = {"id_column": id_column, "label_column": label_column}
        return self.rank_both(queries, gallery, k, which=(learned,), **columns)[learned]

    @_leaving_out_lost
    def rank_both(
        self,
        queries: PathLike | Sequence[PathLike] | Rows,
        gallery: PathLike | Rows,
        k: int = 10,
        *,
        which: Sequence[bool] = (True, False),
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> dict[bool, pd.DataFrame]:
        """Rank as `rank` does, after learning (True) and before it (False), reading the gallery once."""
        self._check_fitted()
        if k < 1:
            raise LookalikeError(f"a ranking needs at least 1 neighbour, not {k}")
        queries = [queries] if isinstance(queries, str | os.PathLike) else queries
        asked = None if isinstance(queries, Rows) or self._of_vectors else self._query_images(queries)
        columns = {"id_column": id_column, "label_column": label_column}
        # names of columns beside a gallery that is read are those of a file of queries
        found = self.read_gallery(gallery, **({} if isinstance(gallery, Rows) else columns))
        wanted = asked or self._query_vectors(queries, found, **columns)
        self.left_out_ = pd.concat([wanted.left_out, found.left_out], ignore_index=True)
        raw_queries, raw_gallery = self._describe(wanted, found)
        ranked = {}
        for learned in which:
            learner, rows = self._side(raw_queries, learned, wanted)
            _, others = self._side(raw_gallery, learned, found)
            ranked[learned] = nearest(learner, (wanted, rows), (found, others), k)
        return ranked

    @_leaving_out_lost
    def evaluate(
        self,
        source: PathLike | Rows,
        labels: Table | ArrayLike | None = None,
        triplets: Table | None = None,
        *,
        ks: Sequence[int] = PRECISION_AT,
        everything: bool = False,
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> pd.DataFrame:
        """Compare the learned similarity with Euclidean distance and cosine of the same representation.

        The cosine of vectors is that of the rows as they are given, not centred. Rows that were learned from, known by
        their content, are passed over as long as others can be evaluated.

        Parameters
        ----------
        source, labels, triplets, id_column, label_column
            As of `read`.
        ks : sequence of int, default=(1, 5, 10)
            Where precision is measured.
        everything : bool, default=False
            Evaluate rows that were learned from too.

        Returns
        -------
        DataFrame
            ``method`` (the learner, Euclidean, cosine), ``measure`` (``map``, ``precision@1``... or ``triplets
            ordered``), ``value``, ``low``, ``high`` (95% interval over queries; NaN for one query), ``queries`` (rows
            that have another of their class). Its ``attrs`` have the ``gains`` of learning with intervals, ``over`` the
            better of Euclidean and cosine. They say how many ``images`` (or ``vectors``, and ``triplets``) were
            evaluated, how many of them the model has ``learned_from``, how many were ``passed_over`` because it has,
            and how many triplets were left out.

        See Also
        --------
        evaluate_new_classes : What learning does for classes that nothing is learned from.
        """
        self._check_fitted()
        found = self.read(source, labels, triplets, id_column=id_column, label_column=label_column).related()
        self.left_out_ = found.left_out
        seen = np.isin(found.contents, self.rows_.loc[self.rows_["role"] == TRAIN, "content"].to_numpy(str))
        self._tell_known_ids(found, seen)
        rows, judged, counts = choose_evaluated(found, seen, everything=everything)
        (raw,) = self._describe(found.take(rows))
        sides = self._sides(raw, found, self.learner_)
        if judged is not None:
            table = learning.compare_on_triplets(sides, judged, self.random_state)
        else:
            assert found.labels is not None
            table = learning.compare_on_labels(sides, found.labels[rows], ks, self.random_state, noun=found.noun)
        table.attrs.update(counts)
        return table

    @_leaving_out_lost
    def evaluate_new_classes(
        self,
        source: PathLike | Rows,
        labels: Table | ArrayLike | None = None,
        *,
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> pd.DataFrame:
        """Compare as `evaluate` does, on classes that a learner of the same kind and settings has not learned from.

        A quarter of the classes is drawn by `random_state`, at least two. The learner is fitted to all rows of the
        other classes, those that the model has learned from too, which takes about as long as `fit`.

        Parameters
        ----------
        source, labels, id_column, label_column
            As of `read`.

        Returns
        -------
        DataFrame
            As `evaluate` returns it, of mean average precision. Its ``attrs`` have the ``gains``, the ``classes`` that
            were drawn, how many rows of them were ``evaluated``, and how many rows were ``learned_from``.

        Raises
        ------
        LookalikeError
            Where the model learned from triplets, or fewer than four classes have two rows.
        """
        self._check_fitted()
        found = self.read(source, labels, id_column=id_column, label_column=label_column).related()
        if self.n_triplets_ or found.triplets is not None or found.labels is None:
            raise LookalikeError("the classes of triplets are not known")
        is_new = learning.choose_new_classes(found.labels, generator(self.random_state, "own images", "new classes"))
        y, name = found.labels[~is_new], type(self.learner_).__name__
        settings = {key: value for key, value in self.learner_.get_params().items() if key not in learning.OURS}
        if settings.get("early_stopping"):
            settings["early_stopping"] = can_hold_out(y)
        (raw,) = self._describe(found)
        rows = self._side(raw, True, found)[1]
        self.progress(f"learning ({name}) without a quarter of the classes", 0, 1)
        learner = learning.train(name, settings, rows[~is_new], y=y, seed=self.random_state, jobs=self.jobs)
        self.progress(f"learning ({name}) without a quarter of the classes", 1, 1)
        sides = self._sides(raw[is_new], found, learner)
        table = learning.compare_on_labels(sides, found.labels[is_new], (), self.random_state, noun=found.noun)
        table.attrs["classes"] = np.unique(found.labels[is_new]).tolist()
        table.attrs |= {"evaluated": int(is_new.sum()), "learned_from": len(y)}
        return table

    @_leaving_out_lost
    def vectors(
        self,
        source: PathLike | Rows,
        *,
        learned: str | None = None,
        id_column: str | None = None,
        label_column: str | None = None,
    ) -> tuple[Vectors, pd.DataFrame]:
        """Describe the images of a folder, or move and divide vectors, as they are before learning, or after it.

        Parameters
        ----------
        source : path-like or Rows
            A folder with images at any depth, or a file of vectors.
        learned : {None, "queries", "gallery"}, default=None
            Return rows of an index, or what it is asked with, such that its inner products or distances
            (``learner_.metric_``) have the order of the learned similarity. Without, return them as they are before
            learning. Where the metric is the inner product, the index holds a user's own vectors as they are.
        id_column, label_column : str, optional
            Columns of a file of vectors, as of `read`.

        Returns
        -------
        vectors : csr_array or ndarray of shape (n, d)
            Of images before learning, float32 and of unit length.
        table : DataFrame
            ``path``, ``label``, ``sha256``, ``width``, ``height`` of images, or ``id`` and ``label`` of vectors.

        Raises
        ------
        LookalikeError
            With `learned`, if no vectors have the learned distance: its matrix is not positive semidefinite.
        """
        if not hasattr(self, "representation_") and str(self.representation).endswith(SUFFIX):
            opened = self._open_model()
            self.representation_, self.reduction_ = opened.representation_, opened.reduction_
            self.learner_, self.columns_ = opened.learner_, opened.columns_
        found = self.read_gallery(source, id_column=id_column, label_column=label_column)
        self.left_out_ = found.left_out
        if not hasattr(self, "representation_"):
            self.representation_, self.columns_ = self._learn_representation(found), found.columns
        (raw,) = self._describe(found)
        if found.images is not None:
            table = found.images.images
        else:
            table = pd.DataFrame({"id": found.ids, "label": "" if found.labels is None else found.labels})
        describer = self.representation_.describer
        if learned is None:
            return self._side(raw, False, found)[1], table
        self._check_fitted()
        learner, rows = self._side(raw, True, found)
        scale = None
        if isinstance(describer, GivenVectors) and learner.metric_ == "inner_product":
            scale = describer.scale
            if learned == "gallery":
                return raw, table
        try:
            mapped = learner.transform_gallery(rows) if learned == "gallery" else learner.transform_queries(rows)
        except ValueError as error:
            raise LookalikeError(f"no index can hold what was learned: {error}") from error
        return (mapped if scale is None else mapped / mapped.dtype.type(scale)), table

    def _tell_known_ids(self, found: Rows, seen: NDArray[np.bool_]) -> None:
        """Warn of vectors that are not known by their numbers, and whose ids were learned from."""
        if found.images is not None or found.numbered:
            return
        train = self.rows_.loc[self.rows_["role"] == TRAIN, "id"].to_numpy(str)
        if n_known := int((np.isin(found.ids, train) & ~seen).sum()):
            warnings.warn(
                f"the model has learned from {n_known:,} ids of {found.source} with other numbers: if rounding changed "
                "them, they are no new vectors",
                stacklevel=3,
            )

    @_leaving_out_lost
    def gallery_rows(
        self, source: PathLike | Rows, *, id_column: str | None = None, label_column: str | None = None
    ) -> tuple[Rows, Vectors]:
        """Read a gallery, and return its rows as they are and as the learner takes them: (n, d).

        Parameters
        ----------
        source : path-like or Rows
            A folder with images at any depth, or a file of vectors.
        id_column, label_column : str, optional
            Columns of a file of vectors.
        """
        self._check_fitted()
        found = self.read_gallery(source, id_column=id_column, label_column=label_column)
        self.left_out_ = found.left_out
        return found, self.learner_rows(found)

    def learner_rows(self, rows: Rows) -> Vectors:
        """Return rows that were read before as the learner takes them: (n, d)."""
        (raw,) = self._describe(rows)
        return self._side(raw, True, rows)[1]

    @_leaving_out_lost
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
        opened = self._open_model() if str(self.representation).endswith(SUFFIX) else None
        self.representation_ = self._make_representation() if opened is None else opened.representation_
        if self.representation_.describer.system != BagOfVisterms.system:
            raise LookalikeError(f"{self.representation} has no visterms: use visterms, or a model of them")
        refuse_parts(Path(folder))  # the labels are those of classes
        found = read_images(folder, n_threads=self.jobs, progress=partial(self.progress, "reading images"))
        found = found.without(self._lost)
        self.left_out_, names = found.left_out, found.images["sha256"]
        if opened is not None:
            known = opened.rows_
            learned_from = known.loc[known["role"] == TRAIN, "content"]
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
        about["images"] = {name: self.rows_.iloc[:, place].tolist() for place, name in enumerate(_STORED)}
        about["left_out"] = self._fit_left_out.to_dict(orient="list")
        about["columns"] = list(self.columns_)
        arrays = {f"representation.{name}": array for name, array in self.representation_.describer.arrays().items()}
        arrays |= {f"reduction.{name}": array for name, array in self.reduction_.items()}
        write_similarity(path, about, arrays, self.learner_)

    @classmethod
    def load(cls, path: PathLike, **how: Any) -> Similarity:
        """Read a model file.

        Parameters
        ----------
        path : path-like
        **how
            ``jobs``, ``cache`` and ``progress`` of the constructor.

        Returns
        -------
        Similarity
            An `ImageSimilarity` where it is one of images.
        """
        about, arrays, learner = read_similarity(path)
        with fits_together(path, SIMILARITY):
            described, learned = about["representation"], about["learner"]
            chosen = {"hold_out": about["hold_out"], "random_state": about["seed"]}
            is_of_vectors = described["name"] == GivenVectors.system
            kind = Similarity if is_of_vectors else ImageSimilarity
            model = kind(described["name"], learned["name"], **chosen, **how)
            model.representation_, model.reduction_ = restored_representation(described, arrays)
            model.learner_ = learner
            stored = pd.DataFrame(about["images"])[_STORED].astype(str)
            model.rows_ = stored.set_axis(["id" if is_of_vectors else "path", "label", "content", "role"], axis=1)
            model.left_out_ = model._fit_left_out = pd.DataFrame(about["left_out"], columns=["path", "reason"])
            model.columns_, model.triplets_left_out_ = tuple(about["columns"]), about["why_triplets_left_out"]
            model.n_triplets_, model.n_triplets_held_out_ = about["n_triplets"], about["n_triplets_held_out"]
            model.seconds_, model._fit_seconds = dict(about["seconds"]), dict(about["seconds"])
            model.provenance_ = about["made_by"]
            model._check_parts()
            if _decided(about) != _decided(model.about()):
                raise ValueError("what it says of itself is not what it holds")
        return model

    def about(self) -> About:
        """Return what can be said of a fitted model, as JSON holds it: what ``lookalike info --json`` prints."""
        self._check_fitted()
        train = self.rows_[self.rows_["role"] == TRAIN]
        learner, describer = self.learner_, self.representation_.describer
        components = self.reduction_.get("components")
        fitted = {name: getattr(learner, f"{name}_", None) for name in ("n_steps", "n_updates", "n_iter", "metric")}
        return {
            "format": SIMILARITY.name,
            "format_version": SIMILARITY.version,
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
            "n_held_out": len(self.rows_) - len(train),
            "n_left_out": len(self._fit_left_out),
            "n_triplets": self.n_triplets_,
            "n_triplets_held_out": self.n_triplets_held_out_,
            "triplets_left_out": sum(self.triplets_left_out_.values()),
            "why_triplets_left_out": self.triplets_left_out_,
            "hold_out": self.hold_out,
            "classes": {str(name): int(n) for name, n in train["label"].value_counts().sort_index().items() if name},
            "seed": int(self.random_state),
            "seconds": {name: round(seconds, 3) for name, seconds in self._fit_seconds.items()},
            "made_by": self.provenance_,
        }

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            raise LookalikeError("nothing has been learned yet: call fit, or load a model")

    def _check_parts(self) -> None:
        """Refuse parts of a file that are not of one model, and parameters that are not of the learner's kinds."""
        describer = self.representation_.describer
        n_dimensions = describer.n_dimensions
        if self.reduction_:
            mean, components = self.reduction_["mean"], self.reduction_["components"]
            if mean.shape != (n_dimensions,) or components.ndim != 2 or components.shape[1] != n_dimensions:
                raise ValueError("the components are not of the representation")
        raw: Vectors = np.ones((1, n_dimensions), np.float32)
        if isinstance(describer, GivenVectors):  # of other values than were learned from, products may be too large
            raw = describer.mean[None] if describer.centred else sp.csr_array(0 * raw)
        elif isinstance(describer, BagOfVisterms):
            raw = sp.csr_array(raw)
        learner, row = self._side(raw, True)
        with np.errstate(all="ignore"):
            if np.shape(learner.similarity(row, row)) != (1, 1):
                raise ValueError("the learner's arrays are not of its dimensions")
        name = type(self.learner_).__name__
        defaults = learning.learner_defaults(name)
        for key, value in self.learner_.get_params(deep=False).items():
            if value is not None and not learning.is_like(value, defaults[key]):  # former versions took None for all
                raise ValueError(f"{key} of {name} cannot be {value!r}")
        self.learner_._check_parameters()

    @property
    def _of_vectors(self) -> bool:
        """Tell whether the representation, if it is chosen, is of vectors."""
        chosen = getattr(self, "representation_", None)
        name = self.representation if chosen is None else chosen.describer.system
        return name == GivenVectors.system

    def _check_kind(self, source: str, *, of_vectors: bool) -> None:
        """Refuse vectors where images are described, and images where vectors are meant."""
        chosen = getattr(self, "representation_", None)
        if of_vectors and self.words is not None:
            raise LookalikeError(f"--words is for images, and {source} holds vectors: leave it out")
        if chosen is None and self.representation is None:
            return
        if of_vectors and not self._of_vectors:
            how = self.representation if chosen is None else chosen.describer.system
            raise LookalikeError(f"{source} holds vectors, and images are described by {how}: name a folder of images")
        if self._of_vectors and not of_vectors:
            size = "" if chosen is None else f" of {chosen.describer.n_dimensions:,} dimensions"
            raise LookalikeError(f"{source} is no file of vectors{size}: name one that ends in {FORMATS}")

    def _make_representation(self) -> CachedDescriber:
        """Return the representation of images asked for, which may have learned already."""
        name = self.representation or BagOfVisterms.system
        return self._open_model().representation_ if name.endswith(SUFFIX) else make_representation(name, self.words)

    def _open_model(self) -> Similarity:
        """Return the model whose representation is asked for."""
        if self.words is not None:
            raise LookalikeError(f"the words of {self.representation} are fixed: leave --words out")
        return Similarity.load(str(self.representation))

    def _learn_representation(self, found: Rows) -> CachedDescriber:
        """Return the representation, learned on the rows of a gallery."""
        if found.X is not None:
            representation = make_representation(
                GivenVectors.system, dimensions=found.X.shape[1], centred=not is_sparse(found.X)
            )
            try:
                representation.describer.fit_weights(found.X)
            except ValueError as error:
                raise LookalikeError(f"{found.source} cannot be learned from: {error}") from error
            return representation
        assert found.images is not None
        representation, once = self._make_representation(), distinct(found.images)
        once = once if len(once.images) else found.images
        representation.fit(*once.files(np.arange(len(once.images))), self.random_state, self._work())
        return representation

    def _describe_to_learn(self, rows: Rows) -> tuple[CachedDescriber, Vectors]:
        """Return a representation learned on rows, and the vectors of these; long ones are reduced, if of images."""
        if rows.images is None:
            representation = self._learn_representation(rows)
            self.reduction_ = {}
            return representation, representation.describer.weigh(rows.X)
        representation = self._make_representation()
        with self._timed("describing images"):
            vectors = representation.fit(*rows.images.files(np.arange(len(rows))), self.random_state, self._work())
        self.reduction_ = fit_components(vectors, self.random_state)
        return representation, vectors

    def _describe(self, *parts: Rows) -> list[Vectors]:
        """Return the vectors of rows of several sources, as they are before they are weighed."""
        if not self._of_vectors:
            paths = [path for rows in parts if rows.images is not None for path in rows.images.paths]
            names = [name for rows in parts for name in rows.contents.tolist()]
            described = self.representation_.describe(paths, names, self._work())
            stops = np.cumsum([len(rows) for rows in parts])
            return [described[stop - len(rows) : stop] for stop, rows in zip(stops, parts, strict=True)]
        return [rows.X for rows in parts]

    def _as_learned(self, rows: Rows) -> Rows:
        """Return vectors with the columns in the order that was learned from, if anything was; refuse other kinds."""
        self._check_kind(rows.source, of_vectors=rows.images is None)
        if rows.images is not None and self._lost:
            rows = Rows.from_images(rows.images.without(self._lost))
        if not hasattr(self, "representation_") or rows.X is None:
            return rows
        describer = self.representation_.describer
        if rows.X.shape[1] != describer.n_dimensions:
            raise LookalikeError(
                f"{rows.source} has {rows.X.shape[1]:,} dimensions, and the model compares vectors of "
                f"{describer.n_dimensions:,}: give vectors of the same kind as it learned from"
            )
        if is_sparse(rows.X) and describer.settings()["centred"]:
            raise LookalikeError(f"{rows.source} is sparse, and the model compares dense vectors: save it as .npy")
        learned = getattr(self, "columns_", ())
        if not (learned and rows.columns) or rows.columns == learned:
            return rows
        if lacking := [name for name in learned if name not in rows.columns]:
            if tuple(map(str, range(len(learned)))) in (learned, rows.columns):
                return rows  # one side has only numbers, as pandas gives them to columns that nobody named
            (other, *_) = [name for name in rows.columns if name not in learned]
            raise LookalikeError(
                f"{rows.source} has no column {lacking[0]}, which the model learned from, and has {other} instead: "
                "give it the same columns"
            )
        sentence = f"{rows.source} has its columns in another order than the model learned from: they are put into that"
        warnings.warn(sentence, stacklevel=2)
        return replace(rows, X=rows.X[:, [rows.columns.index(name) for name in learned]], columns=learned)

    def _as_read(self, rows: Rows, *given: object) -> Rows:
        """Return rows that a caller has read or made, as learned; refuse what could only be `given` before that."""
        if any(part is not None for part in given):
            raise LookalikeError(
                f"{rows.source} is read already: give labels, triplets and names of columns to what reads it, such as "
                "lookalike.app.rows.make_rows"
            )
        return self._as_learned(rows)

    def read_gallery(
        self, gallery: PathLike | Rows, *, id_column: str | None = None, label_column: str | None = None
    ) -> Rows:
        """Read images at any depth of a folder, or a file of vectors, which need no labels."""
        if isinstance(gallery, Rows):
            return self._as_read(gallery, id_column, label_column)
        of_vectors = is_vectors(gallery)
        self._check_kind(os.fspath(gallery), of_vectors=of_vectors)
        if of_vectors:
            return self._as_learned(read_vectors(gallery, id_column=id_column, label_column=label_column))
        progress = partial(self.progress, "reading images")
        return Rows.from_images(read_images(gallery, n_threads=self.jobs, progress=progress).without(self._lost))

    def _query_images(self, queries: Sequence[PathLike]) -> Rows:
        """Read query images, of which some may be left out."""
        names = list(dict.fromkeys(os.fspath(query) for query in queries))
        asked = read_files(names, n_threads=self.jobs)
        if n_bad := len(asked.left_out):  # nothing in the rankings shows that one is lacking
            warnings.warn(f"{n_bad:,} of {len(names):,} queries left out{first_reason(asked.left_out)}", stacklevel=3)
        return Rows.from_images(asked.without(self._lost))

    def _query_vectors(
        self, queries: Sequence[PathLike] | Rows, gallery: Rows, id_column: str | None, label_column: str | None
    ) -> Rows:
        """Return the rows of a gallery of vectors that are named by id, or of a file of queries."""
        if isinstance(queries, Rows):
            return self._as_learned(queries)
        names = list(dict.fromkeys(os.fspath(query) for query in queries))
        if len(names) == 1 and names[0] not in gallery.ids and is_vectors(names[0]):
            if Path(names[0]).suffix.lower() in (".npy", ".npz"):  # the columns are the gallery's
                id_column = label_column = None
            return self._as_learned(read_vectors(names[0], id_column=id_column, label_column=label_column))
        row_of = {name: row for row, name in enumerate(gallery.ids.tolist())}
        for name in names:
            if name not in row_of:
                raise LookalikeError(
                    f"{gallery.source} has no row of the id {short_name(name)}: name ids in it, or one file of vectors "
                    "to ask with"
                )
        rows = np.array([row_of[name] for name in names])
        assert gallery.X is not None
        return Rows(gallery.source, gallery.ids[rows], gallery.X[rows])

    def _work(self) -> Workers:
        return Workers(self.jobs, self._cache, self.progress)

    def _side(self, raw: Vectors, learned: bool, source: Rows | None = None) -> tuple[SimilarityLearner, Vectors]:
        """Return what compares descriptions, and the rows that it takes."""
        with np.errstate(over="ignore"):  # infinity is refused below
            rows = self.representation_.describer.weigh(raw)
        rows = onto_components(rows, self.reduction_) if learned else rows
        is_given = source is not None and source.images is None
        if not is_given and not np.isfinite(rows.data if is_sparse(rows) else rows).all():
            noun = "vectors" if self._of_vectors else "images"
            raise LookalikeError(f"the model describes {noun} by NaN or infinity: fit it again")
        if (largest := largest_value(rows)) and not IN_FLOAT32[0] <= largest <= IN_FLOAT32[1]:
            name = "the model" if source is None else source.source
            raise LookalikeError(
                f"{name} has values up to {largest:.2g} and what the model learned from a mean length of 1, so their "
                "products cannot be held: give it vectors of the same kind"
            )
        return (self.learner_ if learned else Euclidean().fit(rows)), rows

    def _sides(self, raw: Vectors, source: Rows, learner: SimilarityLearner) -> dict[str, learning.Compared]:
        """Return what is compared on descriptions: what was learned, Euclidean distance, and cosine."""
        name, plain = type(learner).__name__, self._side(raw, False, source)
        # vectors as they are given, before they are centred
        unit = normalize(raw.astype(np.float64) if self._of_vectors else plain[1])
        baseline = BASELINE if name != BASELINE else f"{BASELINE} (untrained)"
        learned = learner, self._side(raw, True, source)[1]
        return {name: learned, baseline: plain, COSINE: (TFIDF().fit(unit), unit)}

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds_[what] = time.perf_counter() - start


class ImageSimilarity(Similarity):
    """A `Similarity` of images; what it takes and has is the same, and `images_` besides.

    Attributes
    ----------
    images_ : DataFrame
        After `fit`: ``path``, ``label``, ``sha256``, ``role`` (train or held-out) of the images.

    Examples
    --------
    >>> from lookalike import ImageSimilarity
    >>> model = ImageSimilarity(hold_out=0.25).fit("photos")  # doctest: +SKIP
    >>> model.rank(["query.jpg"], "photos", k=5)  # doctest: +SKIP
    """

    def __init__(self, representation: str = BagOfVisterms.system, learner: str | None = None, **how: Any) -> None:
        super().__init__(representation, learner, **how)

    @property
    def images_(self) -> pd.DataFrame:
        """Return what `rows_` has, under the names of images."""
        return self.rows_.rename(columns={"content": "sha256"})


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


def _plain(value: object) -> object:
    """Return a parameter as JSON holds it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
