"""All sections of config.yaml in one model."""

from __future__ import annotations

from pydantic import Field

from lookalike.core.settings.category import CategoryStudies
from lookalike.core.settings.data_sets import DataSet
from lookalike.core.settings.finegrained import FinegrainedStudy
from lookalike.core.settings.landmark import LandmarkStudy
from lookalike.core.settings.methods import Method
from lookalike.core.settings.model import Id, Section
from lookalike.core.settings.representations import Codebook, Descriptor, Keypoints, Representation
from lookalike.core.settings.web import WebStudy


class Settings(Section):
    """Every key of config.yaml. Unknown keys are errors; keys that are left out take the default given here."""

    seed: int = Field(2010, ge=0)
    """Root seed, a non-negative integer; every job derives a stream of its own from it by name."""
    datasets: dict[Id, DataSet] = Field(description="Where images come from, by data set id.")
    descriptors: dict[Id, Descriptor] = Field({})
    """Block descriptors (OASIS, JMLR section 3), by id; extracted once and shared by representations."""
    representations: dict[Id, Representation] = Field({}, description="Bag-of-visterms representations, by id.")
    methods: dict[Id, Method] = Field({}, description="Learners and how their hyper-parameters are chosen, by id.")
    category: CategoryStudies = Field({}, description="The category study, by data set id.")
    keypoints: dict[Id, Keypoints] = Field({})
    """Local features of the landmark study (SOML, AAAI 2014), by id; extracted once and shared by codebooks."""
    codebooks: dict[Id, Codebook] = Field({}, description="Codebooks of local features, by id.")
    landmark: dict[Id, LandmarkStudy] = Field({}, description="The landmark study, by data set id.")
    web: dict[Id, WebStudy] = Field({}, description="The web-scale study (OASIS, JMLR section 5.2), by data set id.")
    finegrained: dict[Id, FinegrainedStudy] = Field({})
    """The fine-grained study (Deep Ranking, CVPR 2014), by data set id."""
