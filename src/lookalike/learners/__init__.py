"""Learners of image similarity: one file per algorithm, all with the same estimator API.

==================  ========================  ========================  =================  ===========================
learner             learns from               keeps                     transform          source
==================  ========================  ========================  =================  ===========================
OASIS               labels, triplets, online  ``W_``, d x d             projection="psd"   JMLR 2010, section 2
OnlineProjOASIS     labels, triplets, online  ``W_``, d x d, symmetric  projection="psd"   JMLR 2010, section 6
DissimOASIS         labels, triplets, online  ``M_``, d x d             projection="psd"   JMLR 2010, section 6
AveragedOASIS       labels                    ``W_``, d x d             projection="psd"   JMLR 2010, section 5.4
MCML                labels                    ``M_``, d x d             yes                Globerson and Roweis, 2006
LMNN                labels                    ``M_``, d x d             yes                Weinberger and others, 2006
LEGO                labels, pairs, online     ``M_``, d x d             yes                Jain and others, 2008
RCA                 labels                    ``M_``, d x d             yes                Bar-Hillel and others, 2003
MMC                 labels                    ``M_``, d x d             yes                Xing and others, 2003
LDA                 labels                    d x classes               yes                scikit-learn's
LogisticRegression  labels                    d x classes               yes                scikit-learn's
SOMLTG              labels, triplets, online  ``w_``, d weights         projection="psd"   AAAI 2014, Algorithm 1
SOMLDA              labels, triplets, online  ``w_``, d weights         projection="psd"   AAAI 2014, Algorithm 2
DiagonalOASIS       labels, triplets, online  ``w_``, d weights         projection="psd"   AAAI 2014, as OASIS
QPAO                labels, triplets          ``w_``, d weights         yes                AAAI 2014, reconstructed
TFIDF               labels, triplets, online  ``w_``, all 1             yes                AAAI 2014
Euclidean           labels, triplets, online  nothing                   yes                no learning
==================  ========================  ========================  =================  ===========================

``fit(X, y)`` takes labels, ``fit_triplets`` and ``fit_pairs`` the others; a learner that is online goes on with
``partial_fit_triplets`` or ``partial_fit_pairs``. ``transform`` gives vectors whose plain distances, or inner products,
rank as the learner does.

Names are imported when they are first asked for, so that the registry costs nothing and a job imports one learner.
``LEARNERS`` maps the name of every learner in the registry to its class.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from lookalike.learners.registry import MODULES, learner_class

if TYPE_CHECKING:
    from lookalike.learners.base import SimilarityLearner as SimilarityLearner
    from lookalike.learners.base import warm_up as warm_up
    from lookalike.learners.classifiers import LDA as LDA
    from lookalike.learners.classifiers import LogisticRegression as LogisticRegression
    from lookalike.learners.diagonal import TFIDF as TFIDF
    from lookalike.learners.diagonal import DiagonalOASIS as DiagonalOASIS
    from lookalike.learners.euclidean import Euclidean as Euclidean
    from lookalike.learners.lego import LEGO as LEGO
    from lookalike.learners.lmnn import LMNN as LMNN
    from lookalike.learners.mcml import MCML as MCML
    from lookalike.learners.mmc import MMC as MMC
    from lookalike.learners.model_io import load as load
    from lookalike.learners.oasis import OASIS as OASIS
    from lookalike.learners.oasis import AveragedOASIS as AveragedOASIS
    from lookalike.learners.oasis import DissimOASIS as DissimOASIS
    from lookalike.learners.oasis import OnlineProjOASIS as OnlineProjOASIS
    from lookalike.learners.qpao import QPAO as QPAO
    from lookalike.learners.rca import RCA as RCA
    from lookalike.learners.soml import SOMLDA as SOMLDA
    from lookalike.learners.soml import SOMLTG as SOMLTG
    from lookalike.learners.triplet_products import TripletProducts as TripletProducts
    from lookalike.learners.triplets import PairSampler as PairSampler
    from lookalike.learners.triplets import TripletSampler as TripletSampler

    LEARNERS: dict[str, type[SimilarityLearner]]

_PARTS = {
    "SimilarityLearner": "base",
    "PairSampler": "triplets",
    "TripletProducts": "triplet_products",
    "TripletSampler": "triplets",
    "load": "model_io",
    "warm_up": "base",
}

__all__ = ["LEARNERS", *MODULES, *_PARTS]


def __getattr__(name: str) -> object:
    """Import what is asked for (PEP 562)."""
    if name == "LEARNERS":
        return {learner: learner_class(learner) for learner in MODULES}
    if name in MODULES:
        return learner_class(name)
    if name in _PARTS:
        return getattr(import_module(f"lookalike.learners.{_PARTS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
