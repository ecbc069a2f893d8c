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
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize

from lookalike import __version__
from lookalike.app import choice, evaluation, learning, sources
from lookalike.app.choice import NEW, SEEN, Choice, mean_map
from lookalike.app.evaluation import Compared, choose_evaluated
from lookalike.app.learning import HELD_OUT, TRAIN
from lookalike.app.model_file import SCALINGS, SIMILARITY, read_parts, scaling_text, write_similarity
from lookalike.app.representations import Cache, CachedDescriber, Workers, make_representation, restored_representation
from lookalike.app.rows import Reasons, Rows, Table, make_rows
from lookalike.app.steps import Scaling, found_components, with_steps
from lookalike.app.vectors import FORMATS, is_vectors, read_vectors
from lookalike.core.arrays import Array, Ints, Matrix, Texts, Truths
from lookalike.core.errors import LookalikeError, short_name
from lookalike.core.files import PathLike
from lookalike.core.model_file import SUFFIX, About, Arrays, fits_together
from lookalike.core.seeds import generator
from lookalike.data.scan import refuse_parts, scan_photographs
from lookalike.data.splits import sample_codebook_pool
from lookalike.features.describers import VISTERMS, StageProgress, silent
from lookalike.learners.base import IN_FLOAT32, SimilarityLearner, is_sparse, largest_value
from lookalike.learners.diagonal import TFIDF
from lookalike.learners.euclidean import Euclidean
from lookalike.learners.model_io import from_state
from lookalike.learners.online import can_hold_out
from lookalike.learners.registry import MODULES, learner_class
from lookalike.ranking.evaluation import PRECISION_AT

BASELINE, COSINE, OF_VECTORS = "Euclidean", "cosine", "vectors"
_STORED = ["path", "label", "sha256", "role"]  # columns of `rows_` as model files call them
_OF_FIT = ("n_triplets", "n_triplets_held_out", "why_triplets_left_out", "hold_out", "seed", "seconds", "made_by")
_OF_CHOICE = {"for": "", "share": 1.0, "chosen": [], "n_answers_held_out": 0}  # and what models of 1.1 have of it
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "faiss-cpu", "numba", "pillow")


Source = PathLike | Rows | Matrix
Queries = Source | Sequence[PathLike]
Labels = Table | ArrayLike | None
Triplets = Table | None


class Columns(TypedDict, total=False):
    """Columns of a file of vectors."""

    id_column: str | None
    label_column: str | None


class Similarity:
    """A similarity learned from one's own images or vectors; what cannot be used is a `LookalikeError`, one sentence.

    A source of rows is a folder of images, a file of vectors (`lookalike.app.vectors.read_vectors`, with its columns
    ``id_column`` and ``label_column``, ``id`` and ``label`` by default), an array or DataFrame of vectors, or `Rows`.

    Parameters
    ----------
    representation : str, optional
        How images are described: ``"visterms"`` as in the category study (the default), a describer of the fine-grained
        study (``"hog"``, ``"fisher"``, ``"color"``...), or the path of a model file, whose codebook is taken over.
    learner : str, optional
        One of `lookalike.learners` that learns from what is there. By default `lookalike.app.choice.choose_learner`
        chooses by the rows; with `parameters` it is ``"OASIS"``.
    classes : {"new", "seen"}, optional
        Whether it will be asked about classes that it has not learned from, or about those that it has. ``"new"``, the
        default where four classes have two rows or more: the learner is blended with no learning, (1 - a) I + a W, and
        a is chosen by classes that are held out; it may be 0. ``"seen"``: a learner is chosen by rows that are held
        out, and may be a classifier. Triplets tell no classes: nothing is blended.
    scaling : {"unit", "length", "centred", "standard"}, optional
        How vectors are scaled before learning (see `lookalike.app.steps.Scaling`). By default what ranks labelled rows
        best without learning; ``"length"`` for triplets. With ``"length"`` and an inner product that is learned, the
        vectors of an index stay as they are given.
    words : int, optional
        Words of the codebook of visterms; by default suited to the number of images.
    parameters : mapping, optional
        Settings of the learner. Without ``n_steps`` or ``early_stopping``, online learners choose their number of steps
        by rows that they hold out.
    hold_out : float, default=0.0
        Share of every class (of triplets: of the query rows) that nothing is learned from, for `evaluate`.
    random_state : int, default=0
        Root of every random choice.
    jobs : int, optional
        Images described at a time, by default as many as there are processors; no result depends on it.
    cache : path-like, optional
        Folder in which descriptions of images are kept from one call to the next.
    progress, note : callable, optional
        Called as ``progress(what, done, total)``, and as ``note(sentence)`` where a learner was chosen (which, and why)
        and where held-out vectors are ranked worse after learning than before.

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
    representation_ : CachedDescriber or None
        What describes images; None for vectors.
    pipeline_ : sklearn.pipeline.Pipeline
        What described images, or vectors, go through, and the fitted learner, which is also `learner_`.
    seconds_ : dict of str to float
        Wall-clock time of every step of the last call. A model file has those of `fit`.

    Examples
    --------
    >>> from lookalike import Similarity
    >>> model = Similarity().fit(X_train, y_train)  # doctest: +SKIP
    >>> model.rank(X_new, X_train, k=5)  # doctest: +SKIP
    >>> model.evaluate(X_test, y_test)  # doctest: +SKIP
    """

    rows_: pd.DataFrame
    left_out_: pd.DataFrame
    pipeline_: Pipeline

    def __init__(
        self,
        representation: str | None = None,
        learner: str | None = None,
        *,
        classes: str | None = None,
        scaling: str | None = None,
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
        self.classes, self.asked_scaling = classes, scaling
        if words is not None and representation not in (None, VISTERMS):
            raise LookalikeError(f"--words is for visterms that are learned, not for {representation}: leave it out")
        self.words = words
        self.parameters = dict(parameters or {})
        self.hold_out = hold_out
        self.random_state = random_state
        self.jobs = jobs or os.cpu_count() or 1
        self.progress = progress or silent
        self.note = note or (lambda line: None)
        self.representation_: CachedDescriber | None = None
        self.columns_: tuple[str, ...] = ()
        self.seconds_: dict[str, float] = {}
        self._notes: list[str] = []
        self._cache = Cache(None if cache is None else Path(cache))

    @property
    def learner_(self) -> SimilarityLearner:
        """Return the fitted learner."""
        self._check_fitted()
        learner: SimilarityLearner = self.pipeline_[-1]
        return learner

    def read(
        self,
        source: Source,
        labels: Labels = None,
        triplets: Triplets = None,
        *,
        gallery: bool = False,
        **columns: Unpack[Columns],
    ) -> Rows:
        """Read the rows of a source with their labels or triplets, to learn from them, to evaluate or to rank them.

        Parameters
        ----------
        source : path-like, array or Rows
            A source of rows. Of a folder of images one folder per class or, with `labels` or `triplets`, the folder
            that their paths start from.
        labels : path-like, DataFrame or array-like, optional
            Columns ``path`` (of vectors: ``id``) and ``label``; of vectors also one label a row.
        triplets : path-like or DataFrame, optional
            Columns ``query``, ``positive`` and ``negative``, paths of images or ids of vectors.
        gallery : bool, default=False
            Read images at any depth of a folder, copies too; neither these nor vectors need labels then.
        """
        if labels is not None and triplets is not None:
            raise LookalikeError("give --labels or --triplets (in Python, labels or triplets), not both")
        if not isinstance(source, str | os.PathLike | Rows):
            source, labels, triplets = make_rows(source, labels=labels, triplets=triplets), None, None
        of_vectors = self._check_source(source, labels, triplets, *columns.values())
        if isinstance(source, Rows):
            rows = source
        else:
            self.seconds_ = {}
            with self._timed(what := f"reading {'vectors' if of_vectors else 'images'}"):
                how: Any = {"n_threads": self.jobs, "progress": partial(self.progress, what)}
                if of_vectors:
                    rows = read_vectors(source, labels=labels, triplets=triplets, **columns)
                elif gallery:
                    rows = sources.gallery_of(Path(source), scan_photographs(source, **how))
                elif any(name is not None for name in columns.values()):
                    raise LookalikeError(f"{source} is no file of vectors, so it has no columns: leave their names out")
                else:
                    if self.representation_ is None:
                        self._make_representation()  # what cannot be is refused before images are read
                    rows = sources.read_images(source, labels, triplets, **how)
        if not gallery:
            rows.check_related()
        return self._as_learned(rows)

    def check_settings(self, *, triplets: bool) -> dict[str, object]:
        """Refuse a learner or a setting that cannot be, before anything is read; return the learner's arguments."""
        if self.classes not in (None, NEW, SEEN):
            raise LookalikeError(f"classes must be 'new' or 'seen', not {self.classes!r}: say which will be asked")
        if self.asked_scaling not in (None, *SCALINGS):
            raise LookalikeError(f"there is no scaling {self.asked_scaling!r}: take one of {', '.join(SCALINGS)}")
        if not 0 <= self.hold_out < 1:
            raise LookalikeError(f"the held-out share must be from 0 to below 1, not {self.hold_out}: try 0.25")
        if self.learner is None:
            return {}
        name, kind = learning.learner_name(self.learner), "triplets" if triplets else "labels"
        if kind not in learner_class(name).accepts:
            others = [known for known in MODULES if kind in learner_class(known).accepts]
            raise LookalikeError(f"{name} does not learn from {kind}: take one of {', '.join(others)}")
        return learning.checked_settings(name, self.parameters)

    def fit(self, source: Source, labels: Labels = None, triplets: Triplets = None, **columns: Unpack[Columns]) -> Self:
        """Learn from a source of rows, which `read` reads with these parameters, and return itself."""
        by_triplets = triplets is not None or (isinstance(source, Rows) and source.triplets is not None)
        settings = self.check_settings(triplets=by_triplets)
        vars(self).pop("pipeline_", None)  # rows may be of another kind than those of a fit before
        self.representation_, self.columns_, self._notes = None, (), []
        found = self.read(source, labels, triplets, **columns).related()
        roles = learning.choose_roles(found, self.hold_out, self.random_state)
        learned_from = found.take(np.flatnonzero(roles == TRAIN))
        rows = self._fit_steps(learned_from)
        kept, of_triplets = learning.learned_triplets(found, roles, self.hold_out, self.random_state)
        y, weight = None if kept is not None else learned_from.labels, 1.0
        with self._timed("choosing"):
            chosen, share, asked = self._choose(settings, rows, y, kept)
        with self._timed("learning", f"learning ({chosen.name})"):
            how: Any = {"triplets": kept, "seed": self.random_state, "jobs": self.jobs}
            learner = learning.train(chosen.name, chosen.parameters, rows, y=y, **how)
        if y is not None and share is not None:
            weight = choice.weight_of(share, learner, rows[choice.judged_rows(y, self.random_state)])
            learner = learner.blended(weight)
        self.pipeline_.set_params(learner=learner)
        labelled = "" if y is None else found.labels
        facts = {found.key: found.ids, "label": labelled, "content": found.contents, "role": roles}
        self.rows_, self.columns_ = pd.DataFrame(facts), found.columns
        of_fit = of_triplets | {"hold_out": self.hold_out, "seed": int(self.random_state)}
        of_fit |= {"seconds": {name: round(seconds, 3) for name, seconds in self.seconds_.items()}}
        of_fit |= {"made_by": _made_now() | {"source": Path(os.path.realpath(found.source)).name}}
        self._remember(found.left_out, of_fit | {"for": asked, "share": weight, "chosen": self._notes})
        if found.root is None:
            self._compare_held_out(found, roles)
        return self

    def _remember(self, left_out: Reasons, of_fit: About) -> None:
        """Keep what a fit found and how it was made, which later calls do not change."""
        self.left_out_, self._fit_left_out, self._of_fit = _reasons_table(left_out), left_out, of_fit
        self.n_triplets_, self.n_triplets_held_out_ = of_fit["n_triplets"], of_fit["n_triplets_held_out"]
        self.triplets_left_out_ = of_fit["why_triplets_left_out"]

    def _say(self, line: str) -> None:
        """Tell what was chosen, which the model keeps."""
        self._notes.append(line)
        self.note(line)

    def _fit_steps(self, rows: Rows) -> Matrix:
        """Learn what describes or scales rows and reduces them; return them as a learner takes them."""
        if rows.root is None:
            vectors, scaling = rows.X, _scaling_of(rows, self.asked_scaling or "length")
            if self.asked_scaling is None and len(learning.usable_classes(rows.labels)) > 1:
                scaling, values = choice.choose_scaling(rows.X, rows.labels, self.random_state)
                as_given = f"as given {values['unit']:.3f} by cosine, {values['length']:.3f} by Euclidean distance"
                best = f"{scaling_text(scaling.settings())}: mAP {values[scaling.how]:.3f} without learning"
                self._say(f"vectors are taken {best} ({as_given})")
            self.pipeline_ = with_steps(scaling)
        else:
            self.representation_ = self._make_representation()
            with self._timed("describing images"):
                vectors = self.representation_.fit(rows.files, self.random_state, self._work())
            self.pipeline_ = with_steps(found_components(vectors, self.random_state))
        return self.pipeline_[:-1].transform(vectors)

    def _choose(
        self, settings: dict[str, object], X: Matrix, y: Texts | None, triplets: Ints | None
    ) -> tuple[Choice, float | None, str]:
        """Return the learner that was named or ranks held-out rows best, the share of it in a blend, and for whom.

        New or seen classes are asked as it was said, else by how many there are.
        """
        asked, judged = "", np.empty(0, str)
        if y is not None:
            asked, judged = self.classes or NEW, y[choice.judged_rows(y, self.random_state)]
            if (n_classes := len(learning.usable_classes(y))) < (fewest := learning.FEWEST_CLASSES):
                if asked == NEW:
                    has = "class has" if n_classes == 1 else "classes have"
                    few = f"{n_classes} {has} two rows or more, and to choose for new classes at least {fewest}"
                    self._say(f"chosen for the classes that were learned from: {few} are needed")
                asked = SEEN
        by_distance = self._of_vectors and not self.scaling.is_unit and asked == NEW
        chosen, share = choice.choose_learner(X, y, triplets, of_distances=by_distance), None
        how: Any = {"seed": self.random_state, "train": self._trained, "tell": self.progress}
        if self.learner is not None:
            chosen = Choice(learning.learner_name(self.learner), settings, "it was named")
        elif y is not None and can_hold_out(judged):
            best, listing = choice.choose_for_seen(choice.candidates_for_seen(chosen, X, y), X, y, **how)
            if asked == SEEN:
                chosen = best
            elif best.name != BASELINE:
                classes = "held-out rows of the classes learned from"
                self._say(f"--for seen would take {best.name}: mAP of {classes}: {listing}")
        enough = len(learning.usable_classes(judged)) >= learning.FEWEST_CLASSES
        if asked == NEW and y is not None and enough and learner_class(chosen.name).can_blend:
            share, reason = choice.blend_for_new_classes(chosen.name, chosen.parameters, X, y, **how)
        self._say(str(chosen) if share is None else reason)
        return chosen, share, asked

    def _trained(self, name: str, settings: Mapping[str, object], X: Matrix, *, y: Array) -> SimilarityLearner:
        """Train a learner to choose by."""
        settings = dict(settings)
        if settings.get("early_stopping"):
            settings["early_stopping"] = can_hold_out(y)
        return learning.train(name, settings, X, y=y, seed=self.random_state, jobs=self.jobs)

    def _trained_again(self, X: Matrix, y: Array) -> SimilarityLearner:
        """Train a learner on other rows as that of the model was trained."""
        own, share = self.learner_, self._of_fit["share"]
        settings = {key: value for key, value in own.get_params().items() if key not in learning.OURS}
        learner = self._trained(type(own).__name__, settings, X, y=y)
        return learner if share == 1 else learner.blended(share)

    def _compare_held_out(self, found: Rows, roles: Texts) -> None:
        """Say where some of the held-out rows are ranked worse after learning than before."""
        held_out = np.flatnonzero(roles == HELD_OUT)
        if found.triplets is not None or not len(held_out):
            return
        order = generator(self.random_state, "own images", "compared").permutation(held_out)
        with suppress(LookalikeError):  # any order of these rows is right
            table = self.evaluate(found.take(np.sort(order[: choice.MOST_JUDGED])), ks=())
            if (verdict := choice.helped(table)).startswith("worse") and self.learner_.needs_labels:
                worse = f"{table['method'][0]} is {verdict} on rows that it has not learned from"
                self.note(f"{worse}: take another learner (--learner), other settings, or more rows")

    def rank(
        self, queries: Queries, gallery: Source, k: int = 10, *, learned: bool = True, **columns: Unpack[Columns]
    ) -> pd.DataFrame:
        """Find the rows of a gallery that are most like each query.

        Parameters
        ----------
        queries : path-like, sequence of these, array or Rows
            Image files, in the gallery or elsewhere; one that is named twice is one query. Those that cannot be used
            are left out with a warning, if there are others. For vectors, ids of rows of the gallery, or one file.
        gallery : path-like, array or Rows
            A source of rows, of images at any depth. Rows of the same content as a query (the same file, the same
            numbers) are no neighbours of it.
        k : int, default=10
            Neighbours; fewer where the gallery has fewer.
        learned : bool, default=True
            False ranks by the Euclidean distance of the same representation, as before learning.

        Returns
        -------
        DataFrame
            ``query``, ``rank`` (from 1), ``path`` (relative to the folder; of vectors, ``id``), ``score`` (larger is
            more alike), ``label`` (the folder in the gallery that the image lies in).
        """
        results = self.neighbours(queries, gallery, k, {"neighbours": learned}, **columns)
        return pd.DataFrame([{"query": found["query"], **row} for found in results for row in found["neighbours"]])

    def neighbours(
        self, queries: Queries, gallery: Source, k: int, which: Mapping[str, bool], **columns: Unpack[Columns]
    ) -> list[dict[str, Any]]:
        """Rank as `rank` does: each ``query`` and what it finds, by names that say whether after learning."""
        self._check_fitted()
        if k < 1:
            raise LookalikeError(f"a ranking needs at least 1 neighbour, not {k}")
        if len(getattr(queries, "shape", ())) == 2:
            queries = make_rows(queries)
        names, asked = list[str](), None
        if not isinstance(queries, Rows):
            listed = [queries] if isinstance(queries, str | os.PathLike) else queries
            names = list(dict.fromkeys(os.fspath(query) for query in listed))
            asked = None if self._of_vectors else sources.read_files(names, n_threads=self.jobs)
        # names of columns beside a gallery that is read are those of a file of queries
        found = self.read(gallery, gallery=True, **({} if isinstance(gallery, Rows) else columns))
        if isinstance(queries, Rows):
            wanted = self.read(queries, gallery=True)
        else:
            wanted = asked or self._query_vectors(names, found, columns)
        self.left_out_ = _reasons_table(wanted.left_out + found.left_out)
        asking, asked_of = self._described(wanted), self._described(found)
        results: list[dict[str, Any]] = [{"query": query} for query in wanted.ids.tolist()]
        for name, learned in which.items():
            rows, others = (self._taken(*part, learned=learned) for part in ((asking, wanted), (asked_of, found)))
            learner = self.learner_ if learned else Euclidean().fit(rows)
            ranked = evaluation.nearest(learner, (wanted, rows), (found, others), k)
            for result, neighbours in zip(results, ranked, strict=True):
                result[name] = neighbours
        return results

    def evaluate(
        self,
        source: Source,
        labels: Labels = None,
        triplets: Triplets = None,
        *,
        ks: Sequence[int] = PRECISION_AT,
        everything: bool = False,
        **columns: Unpack[Columns],
    ) -> pd.DataFrame:
        """Compare the learned similarity with Euclidean distance and cosine of the same representation.

        The cosine of vectors is that of the rows as they are given, not centred. Rows that were learned from, known by
        their content, are passed over as long as others can be evaluated. For classes that nothing is learned from, see
        `evaluate_new_classes`.

        Parameters
        ----------
        source, labels, triplets
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
        """
        self._check_fitted()
        found = self.read(source, labels, triplets, **columns).related()
        seen = self.learned_from(found)
        answers = np.zeros(0 if found.triplets is None else len(found.triplets), bool)
        if found.triplets is not None and self._of_fit["n_answers_held_out"]:
            about_seen = seen[found.triplets].all(axis=1)
            answers = about_seen & learning.held_out_answers(found, self.hold_out, self._of_fit["seed"])
        rows, judged, counts = choose_evaluated(found, seen, answers, everything=everything)
        compared = self._compared(self._described(found.take(rows)), found)
        if judged is None:
            own = found.labels[rows]
            table = evaluation.compare_on_labels(compared, own, ks, self.random_state, noun=found.noun)
        else:
            assert found.triplets is not None
            table = evaluation.compare_on_triplets(compared, judged, self.random_state)
            counts["agreement"], counts["questions_repeated"] = evaluation.agreement(found.triplets)
            if answers.any() and not everything:
                known = replace(found, triplets=found.triplets[answers]).related()
                assert known.triplets is not None
                on_known = self._compared(self._described(known), found)
                of_answers = evaluation.compare_on_triplets(on_known, known.triplets, self.random_state)
                counts["answers_held_out"] = {"triplets": len(known.triplets), "rows": of_answers.to_dict("records")}
        table.attrs.update(counts)
        return table

    def evaluate_new_classes(self, source: Source, labels: Labels = None, **columns: Unpack[Columns]) -> pd.DataFrame:
        """Compare as `evaluate` does, on classes that a learner of the same kind and settings has not learned from.

        A quarter of the classes is chosen by `random_state`, at least two. The learner is fitted to all rows of the
        other classes, those that the model has learned from too, which takes about as long as `fit`. A model of
        triplets, or fewer than four classes of two rows, are a `LookalikeError`. The parameters are those of `read`.

        Returns
        -------
        DataFrame
            As of `evaluate`, of mean average precision. Its ``attrs`` have the ``gains``, the new ``classes``, how many
            rows of them were ``evaluated``, and how many rows were ``learned_from``.
        """
        name = type(self.learner_).__name__
        found = self.read(source, labels, **columns).related()
        if self.n_triplets_ or found.triplets is not None:
            raise LookalikeError("the classes of triplets are not known")
        is_new = learning.choose_new_classes(found.labels, self.random_state)
        y, own, raw = found.labels[~is_new], found.labels[is_new], self._described(found)
        rows = self._taken(raw, found)[~is_new]
        with self._timed("learning again", f"learning ({name}) without a quarter of the classes"):
            learner = self._trained_again(rows, y)
        compared = self._compared(raw[is_new], found, learner)
        table = evaluation.compare_on_labels(compared, own, seed=self.random_state, noun=found.noun)
        table.attrs |= {"classes": np.unique(own).tolist(), "evaluated": len(own), "learned_from": len(y)}
        return table

    def compare(self, source: Source, labels: Labels = None, **columns: Unpack[Columns]) -> pd.DataFrame:
        """Measure the model beside alternatives, such as LDA, on seen and on new classes.

        All learn from the rows that the model has learned from, and are asked with the others (``seen``); and again
        without a quarter of the classes, and are asked with these (``new``, as of `evaluate_new_classes`). Those
        beside it are learners of this package with their defaults, of scikit-learn LDA, logistic regression and, of few
        rows, NCA; and Euclidean distance and cosine without learning. The parameters are those of `read`, of the source
        that the model has learned from, of which it holds some rows out.

        Returns
        -------
        DataFrame
            ``method``, ``seen`` and ``new`` (mean average precision; NaN where fewer than four classes have two rows),
            and ``seconds`` of the processor that learning took.
        """
        found = self.read(source, labels, **columns).related()
        seen = self.learned_from(found)
        if found.triplets is not None or not seen.any() or seen.all():
            lacks = f"{found.source} lacks labelled rows that the model has learned from, or others to ask with"
            raise LookalikeError(f"{lacks}: fit with --hold-out 0.25, and name the same source")
        y, raw = found.labels, self._described(found)
        X, parts = self._taken(raw, found), {"seen": (seen, ~seen)}
        with suppress(LookalikeError):  # there are too few classes
            is_new = learning.choose_new_classes(y, self.random_state)
            parts["new"] = (~is_new, is_new)
        this = {f"this model ({type(self.learner_).__name__})": self._trained_again}
        ways = this | choice.rivals(X[seen], y[seen], self._trained)
        records: list[dict[str, object]] = []
        for number, (name, way) in enumerate(ways.items()):
            self.progress(f"learning ({name})", number, len(ways))
            start = time.process_time()
            fitted = {part: way(X[known], y[known]) for part, (known, _) in parts.items()}
            seconds = (time.process_time() - start) / len(parts)
            values = {part: mean_map(fitted[part], X[asked], y[asked]) for part, (_, asked) in parts.items()}
            records.append({"method": name, **values, "seconds": seconds})
        for name, (plain, rows) in list(self._compared(raw, found).items())[1:]:
            values = {part: mean_map(plain, rows[asked], y[asked]) for part, (_, asked) in parts.items()}
            records.append({"method": name, **values, "seconds": 0.0})
        return pd.DataFrame(records, columns=["method", "seen", "new", "seconds"])

    def vectors(self, source: Source, **columns: Unpack[Columns]) -> tuple[Matrix, pd.DataFrame]:
        """Describe the images of a folder, or move and divide vectors, as they are before learning.

        Parameters
        ----------
        source : path-like, array or Rows
            A source of rows, of images at any depth.

        Returns
        -------
        vectors : csr_array or ndarray of shape (n, d)
            Of images, float32 and of unit length.
        table : DataFrame
            ``path``, ``label``, ``sha256``, ``width``, ``height`` of images, or ``id`` and ``label`` of vectors.
        """
        self._take_over()
        found = self.read(source, gallery=True, **columns)
        if not hasattr(self, "pipeline_"):
            self._learn_representation(found)
        return self._taken(self._described(found), found, learned=self._of_vectors), found.table()

    def _learn_representation(self, found: Rows) -> None:
        """Learn what describes or scales the rows of a gallery."""
        if found.root is None:
            self.pipeline_, self.columns_ = with_steps(_scaling_of(found)), found.columns
            return
        self.representation_, self.pipeline_ = self._make_representation(), with_steps({})
        with suppress(LookalikeError):
            found = sources.distinct(found)
        self.representation_.fit(found.files, self.random_state, self._work())

    def learner_rows(self, rows: Rows) -> Matrix:
        """Return rows that were read before as the learner takes them: (n, d)."""
        self._check_fitted()
        return self._taken(self._described(rows), rows)

    def learned_from(self, rows: Rows) -> Truths:
        """Tell of each row whether one of its content was learned from."""
        self._check_fitted()
        return np.isin(rows.contents, self.rows_.loc[self.rows_["role"] == TRAIN, "content"].to_numpy(str))

    def counts(self, folder: PathLike, pool: float = 0.25) -> tuple[sp.csr_array, pd.DataFrame]:
        """Count the visterms of the images of a folder, as the category study learns from them: int32, a row an image.

        The table is that of `vectors` and ``in_pool``: whether palette and codebook were learned from an image. A share
        `pool` of each label's images serves that.
        """
        self._take_over()
        described = self.representation_ if hasattr(self, "pipeline_") else self._make_representation()
        if described is None or described.describer.system != VISTERMS:
            raise LookalikeError(f"{self.representation} has no visterms: use visterms, or a model of them")
        self.representation_ = described
        refuse_parts(Path(folder))  # the labels are those of classes
        found = self.read(folder, gallery=True)
        images = found.table()
        if hasattr(self, "pipeline_"):
            in_pool = self.learned_from(found)
        else:
            listed = images.assign(image_id=range(len(images)), status="ok")
            rows = sample_codebook_pool(listed, share=pool, keep=1, seed=self.random_state)["image_id"].to_numpy()
            in_pool = np.isin(found.contents, found.contents[rows])
            described.fit(found.take(rows).files, self.random_state, self._work())
        return sp.csr_array(described.describe(found.files, self._work())), images.assign(in_pool=in_pool)

    def save(self, path: PathLike) -> None:
        """Write the model file, whose name ends in ``.lookalike``."""
        about = self.about()
        about["images"] = {name: self.rows_.iloc[:, place].tolist() for place, name in enumerate(_STORED)}
        about["left_out"] = _reasons_table(self._fit_left_out).to_dict(orient="list")
        about["columns"] = list(self.columns_)
        described = self.representation_
        arrays = self.scaling.arrays() if described is None else described.describer.arrays()
        write_similarity(path, about, arrays, self.reduction, self.learner_)

    @classmethod
    def load(cls, path: PathLike, **how: Any) -> Similarity:
        """Read a model file, one of images as an `ImageSimilarity`; `how` is `jobs`, `cache` and `progress`."""
        about, arrays = read_parts(path)
        with fits_together(path, SIMILARITY):
            learner = from_state(about["fitted"], arrays["learner"], path, SIMILARITY)
            described, own = about["representation"], arrays["representation"]
            of_vectors = described["name"] == OF_VECTORS
            kind = Similarity if of_vectors else ImageSimilarity
            chosen = {"hold_out": about["hold_out"], "random_state": about["seed"]}
            model = kind(described["name"], about["learner"]["name"], **chosen, **how)
            if of_vectors:
                model.pipeline_ = with_steps(Scaling.restored(described["settings"], own), learner)
            else:
                model.representation_ = restored_representation(described, own)
                model.pipeline_ = with_steps(arrays["reduction"], learner)
            stored = pd.DataFrame(about["images"])[_STORED].astype(str)
            model.rows_ = stored.set_axis(["id" if of_vectors else "path", "label", "content", "role"], axis=1)
            model.columns_, model.seconds_ = tuple(about["columns"]), dict(about["seconds"])
            left_out = list(zip(about["left_out"]["path"], about["left_out"]["reason"], strict=True))
            of_choice = {name: about.get(name, value) for name, value in _OF_CHOICE.items()}
            model._remember(left_out, {name: about[name] for name in _OF_FIT} | of_choice)
        return model

    def about(self) -> About:
        """Return what can be said of a fitted model, as JSON holds it: what ``lookalike info --json`` prints."""
        learner, described = self.learner_, self.representation_
        train = self.rows_[self.rows_["role"] == TRAIN]
        components = self.reduction.get("components")
        settings = self.scaling.settings() if described is None else described.describer.settings()
        fitted = {name: getattr(learner, f"{name}_", None) for name in ("n_steps", "n_updates", "n_iter", "metric")}
        return {
            "format": SIMILARITY.name,
            "format_version": SIMILARITY.version,
            "representation": {
                "name": OF_VECTORS if described is None else described.describer.system,
                "dimensions": self._n_dimensions,
                "settings": {name: _plain(value) for name, value in settings.items()},
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
            "triplets_left_out": sum(self.triplets_left_out_.values()),
            "classes": {str(name): int(n) for name, n in train["label"].value_counts().sort_index().items() if name},
            **self._of_fit,
        }

    @property
    def scaling(self) -> Scaling:
        """Return what scales vectors."""
        scaling: Scaling = self.pipeline_.named_steps["scaling"]
        return scaling

    @property
    def reduction(self) -> Arrays:
        """Return ``mean`` and ``components`` that images are brought to before learning, if they are."""
        pca = self.pipeline_.named_steps.get("reduction", "passthrough")
        return {} if pca == "passthrough" else {"mean": pca.mean_, "components": pca.components_}

    @property
    def _n_dimensions(self) -> int:
        described = self.representation_
        return int(self.scaling.n_features_in_ if described is None else described.describer.n_dimensions)

    @property
    def _of_vectors(self) -> bool:
        """Tell whether it compares vectors, as far as that is chosen."""
        if hasattr(self, "pipeline_"):
            return self.representation_ is None
        return self.representation == OF_VECTORS

    def _check_fitted(self) -> None:
        if not hasattr(self, "pipeline_") or self.pipeline_[-1] == "passthrough":
            raise LookalikeError("nothing has been learned yet: call fit, or load a model")

    def _check_source(self, source: Source, *given: object) -> bool:
        """Tell whether rows are vectors; refuse what the model does not compare, and what is `given` too late."""
        of_vectors = source.root is None if isinstance(source, Rows) else is_vectors(source)
        named = source.source if isinstance(source, Rows) else os.fspath(source)
        if isinstance(source, Rows) and any(part is not None for part in given):
            raise LookalikeError(f"{named} is read already: give labels, triplets and names of columns to make_rows")
        if of_vectors and self.words is not None:
            raise LookalikeError(f"--words is for images, and {named} holds vectors: leave it out")
        if not of_vectors and self.asked_scaling is not None:
            raise LookalikeError(f"--scaling is for vectors, and {named} holds images: leave it out")
        is_fitted = hasattr(self, "pipeline_")
        if (not is_fitted and self.representation is None) or of_vectors == self._of_vectors:
            return of_vectors
        if of_vectors:
            how = self.representation_.describer.system if self.representation_ else self.representation
            raise LookalikeError(f"{named} holds vectors, and images are described by {how}: name a folder of images")
        size = f" of {self._n_dimensions:,} dimensions" if is_fitted else ""
        raise LookalikeError(f"{named} is no file of vectors{size}: name one that ends in {FORMATS}")

    def _make_representation(self) -> CachedDescriber:
        """Return the representation of images asked for, which may have learned already."""
        name = self.representation or VISTERMS
        if not name.endswith(SUFFIX):
            return make_representation(name, **({} if self.words is None else {"words": self.words}))
        opened = Similarity.load(name)
        if opened.representation_ is None:
            raise LookalikeError(f"{name} compares vectors, and describes no images: name a file of vectors")
        return opened.representation_

    def _take_over(self) -> None:
        """Take all that the model has learned whose representation is asked for, unless something was learned here."""
        if not hasattr(self, "pipeline_") and str(self.representation).endswith(SUFFIX):
            opened = Similarity.load(str(self.representation))
            self.representation_, self.pipeline_ = opened.representation_, opened.pipeline_
            self.rows_, self.columns_ = opened.rows_, opened.columns_

    def _described(self, rows: Rows) -> Matrix:
        """Return the vectors of rows, as they are before they are weighed or scaled."""
        return rows.X if self.representation_ is None else self.representation_.describe(rows.files, self._work())

    def _as_learned(self, rows: Rows) -> Rows:
        """Return rows, vectors with the columns in the order that was learned from; keep why others are left out."""
        self.left_out_ = _reasons_table(rows.left_out)
        if rows.X is None or not hasattr(self, "pipeline_"):
            return rows
        if rows.X.shape[1] != self._n_dimensions:
            differ = f"{rows.X.shape[1]:,} dimensions, and the model compares vectors of {self._n_dimensions:,}"
            raise LookalikeError(f"{rows.source} has {differ}: give vectors of the same kind as it learned from")
        if is_sparse(rows.X) and len(self.scaling.mean_):
            raise LookalikeError(f"{rows.source} is sparse, and the model compares dense vectors: save it as .npy")
        learned = self.columns_
        if not (learned and rows.columns) or rows.columns == learned:
            return rows
        if lacking := [name for name in learned if name not in rows.columns]:
            if tuple(map(str, range(len(learned)))) in (learned, rows.columns):
                return rows  # one side has only numbers, as pandas gives them to columns that nobody named
            (other, *_) = [name for name in rows.columns if name not in learned]
            lacks = f"{rows.source} has no column {lacking[0]}, which the model learned from, and has {other} instead"
            raise LookalikeError(f"{lacks}: give it the same columns")
        sentence = f"{rows.source} has its columns in another order than the model learned from: they are put into that"
        warnings.warn(sentence, stacklevel=2)
        return replace(rows, X=rows.X[:, [rows.columns.index(name) for name in learned]], columns=learned)

    def _query_vectors(self, names: list[str], gallery: Rows, columns: Columns) -> Rows:
        """Return the rows of a gallery of vectors that are named by id, or of a file of queries."""
        if len(names) == 1 and names[0] not in gallery.ids and is_vectors(names[0]):
            has_columns = Path(names[0]).suffix.lower() not in (".npy", ".npz")  # else, they are the gallery's
            return self._as_learned(read_vectors(names[0], **(columns if has_columns else {})))
        row_of = {name: row for row, name in enumerate(gallery.ids.tolist())}
        if lacking := [name for name in names if name not in row_of]:
            what_now = "name ids in it, or one file of vectors to ask with"
            raise LookalikeError(f"{gallery.source} has no row of the id {short_name(lacking[0])}: {what_now}")
        return replace(gallery.take(np.array([row_of[name] for name in names])), left_out=[])

    def _work(self) -> Workers:
        return Workers(self.jobs, self._cache, self.progress)

    def _taken(self, raw: Matrix, source: Rows, *, learned: bool = True) -> Matrix:
        """Return descriptions as the learner takes them, or as they are compared without it: vectors as they are given.

        Those of images are weighed. Those whose products cannot be held are refused.
        """
        with np.errstate(over="ignore"):  # infinity is refused below
            rows = raw if self.representation_ is None else self.representation_.describer.weigh(raw)
            if learned:
                rows = self.pipeline_[:-1].transform(rows)
            elif self._of_vectors:
                rows = self.scaling.as_given(rows)
        if source.root is not None and not np.isfinite(rows.data if is_sparse(rows) else rows).all():
            raise LookalikeError("the model describes images by NaN or infinity: fit it again")
        if (largest := largest_value(rows)) and not IN_FLOAT32[0] <= largest <= IN_FLOAT32[1]:
            far = f"{source.source} has values up to {largest:.2g}, and what was learned from a mean length of 1"
            raise LookalikeError(f"{far}, so their products cannot be held: give it vectors of the same kind")
        return rows

    def _compared(self, raw: Matrix, source: Rows, learner: SimilarityLearner | None = None) -> dict[str, Compared]:
        """Return what is compared on descriptions: what was learned, Euclidean distance, and cosine."""
        name, rows = type(self.learner_).__name__, self._taken(raw, source)
        plain = self._taken(raw, source, learned=False)
        # vectors as they are given, before they are centred
        unit = normalize(raw.astype(np.float64) if self._of_vectors else plain)
        baseline = BASELINE if name != BASELINE else f"{BASELINE} (untrained)"
        without = {baseline: (Euclidean().fit(plain), plain), COSINE: (TFIDF().fit(unit), unit)}
        return {name: (learner or self.learner_, rows), **without}

    @contextmanager
    def _timed(self, what: str, stage: str = "") -> Iterator[None]:
        """Note how long a step takes, and tell of one whose length is not known."""
        start = time.perf_counter()
        if stage:
            self.progress(stage, 0, 1)
        yield
        if stage:
            self.progress(stage, 1, 1)
        self.seconds_[what] = time.perf_counter() - start


class ImageSimilarity(Similarity):
    """A `Similarity` of images: ``ImageSimilarity(hold_out=0.25).fit("photos").rank("query.jpg", "photos", k=5)``."""

    def __init__(self, representation: str = VISTERMS, learner: str | None = None, **how: Any) -> None:
        super().__init__(representation, learner, **how)

    @property
    def images_(self) -> pd.DataFrame:
        """Return `rows_`, in which ``sha256`` is the ``content`` of images."""
        return self.rows_.rename(columns={"content": "sha256"})


def _scaling_of(rows: Rows, how: str = "length") -> Scaling:
    """Return what scales vectors that are learned from."""
    try:
        return Scaling(how).fit(rows.X)
    except ValueError as error:
        raise LookalikeError(f"{rows.source} cannot be learned from: {error}") from error


def _reasons_table(reasons: Reasons) -> pd.DataFrame:
    return pd.DataFrame(reasons, columns=["path", "reason"], dtype=str)


def _made_now() -> dict[str, str]:
    """Return the time, and the versions that decide a model's numbers."""
    found = {"lookalike": __version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return {"time": datetime.now(UTC).isoformat(timespec="seconds"), **found}


def _plain(value: object) -> object:
    """Return a parameter as JSON holds it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
