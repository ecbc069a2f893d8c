"""The settings of a whole run: completed, and held to what only learners, data sets and studies know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from lookalike.core.errors import LookalikeError
from lookalike.core.settings.data_sets import MADE_BY_CODE, STUDIES
from lookalike.core.settings.model import Id, refer, validated
from lookalike.core.settings.schema import Shared
from lookalike.exhibits.registry import ROOMS, Exhibit
from lookalike.exhibits.study import Study
from lookalike.learners.registry import MODULES
from lookalike.studies.category.settings import Splits, with_likes
from lookalike.studies.category.study import CategoryStudy
from lookalike.studies.embeddings.study import EmbeddingsStudy
from lookalike.studies.finegrained.study import FinegrainedStudy
from lookalike.studies.human.study import HumanStudy
from lookalike.studies.landmark.study import LandmarkStudy
from lookalike.studies.web.study import WebStudy


class Settings(Shared):
    """Every key of config.yaml. Unknown keys are errors; keys that are left out take the default given here."""

    category: Annotated[dict[Id, CategoryStudy], BeforeValidator(with_likes)] = Field({})
    """The category study, by data set id."""
    landmark: dict[Id, LandmarkStudy] = Field({}, description="The landmark study, by data set id.")
    embeddings: dict[Id, EmbeddingsStudy] = Field({})
    """The study of embeddings, by data set id: the papers' protocol on vectors of a network of today."""
    web: dict[Id, WebStudy] = Field({}, description="The web-scale study (OASIS, JMLR section 5.2), by data set id.")
    finegrained: dict[Id, FinegrainedStudy] = Field({})
    """The fine-grained study (Deep Ranking, CVPR 2014), by data set id."""

    @cached_property
    def human(self) -> dict[str, HumanStudy]:
        """The human study, by the id of a data set whose category study asks for ratings."""
        studies = {}
        for dataset, study in self.category.items():
            if (ratings := study.ratings) is not None:
                human = HumanStudy(
                    ratings=ratings,
                    representation=study.representation,
                    subset_title=study.subsets[ratings.subset].title or ratings.subset,
                    n_folds=study.splits.folds,
                )
                studies[dataset] = human.bound(dataset, self)
        return studies

    def studies(self, room: str) -> Mapping[str, Study]:
        """Return the studies of one room, by data set id."""
        studies: Mapping[str, Study] = getattr(self, room)
        return studies

    def exhibits_of(self, dataset: str, paper: str = "") -> dict[str, list[Exhibit]]:
        """Return room to the exhibits of its study of a data set, or to those of one paper."""
        studies = {room: self.studies(room).get(dataset) for room in ROOMS}
        return {
            room: [exhibit for exhibit in study.own_exhibits() if paper in ("", exhibit.paper)]
            for room, study in studies.items()
            if study is not None
        }


def checked(config: Mapping[str, Any]) -> Settings:
    """Return the settings of config.yaml with its overlays, or say in one sentence what is wrong with it."""
    settings = validated(Settings, config)
    check_names(settings)
    section_of: dict[str, str] = {}
    for section in STUDIES:
        for dataset, study in settings.studies(section).items():
            if first := section_of.get(dataset):  # results of a data set have one place
                raise LookalikeError(f"config: {first} and {section} both list {dataset!r}: name it in one of them")
            section_of[dataset] = section
            refer(section, dataset, settings.datasets)
            study.bound(dataset, settings).check()
    for dataset, data in settings.datasets.items():
        if data.pool.keep is None:
            # what a fold of the study needs, or of the papers' protocol
            splits = settings.category[dataset].splits if dataset in settings.category else Splits()
            pool = data.pool.model_copy(update={"keep": splits.train + splits.test})
            settings.datasets[dataset] = data.model_copy(update={"pool": pool})
    return settings


def check_names(settings: Settings) -> None:
    """Refuse data sets without a folder, and representations, methods and codebooks that name what does not exist."""
    for id, data in settings.datasets.items():
        if data.kind not in MADE_BY_CODE and not data.path:
            raise LookalikeError(
                f"config: datasets.{id} needs a `path`: the folder of its images, relative to the work folder"
            )
    for id, representation in settings.representations.items():
        refer(f"representations.{id}.descriptor", representation.descriptor, settings.descriptors)
    for id, method in settings.methods.items():
        if not method.learner:
            raise LookalikeError(f"config: methods.{id} needs a `learner`; there are: {', '.join(sorted(MODULES))}")
        refer(f"methods.{id}.learner", method.learner, MODULES)
    for id, codebook in settings.codebooks.items():
        place = f"codebooks.{id}"
        if id in settings.representations:
            raise LookalikeError(f"config: {place} has the id of a representation: give it another one")
        if codebook.published:
            continue
        if codebook.keypoints is None:
            raise LookalikeError(f"config: {place} needs `keypoints`: the id of those it is learned from")
        refer(f"{place}.keypoints", codebook.keypoints, settings.keypoints)


def settings_schema() -> str:
    """Return the JSON schema of config.yaml and of config/demo.yaml, with which an editor completes and checks them."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Settings.model_json_schema()}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(settings_schema(), end="")
