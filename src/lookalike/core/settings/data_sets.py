"""Settings of data sets, by kind."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lookalike.core.settings.model import Absent, Distinct, Number, Section

SYNTHETIC_KINDS = ("synthetic", "synthetic_landmarks", "synthetic_triplets")  # images are made by code
WEB_KINDS = ("websim",)  # a query log and visterms, without pictures
VISTERM_KINDS = ("visterms",)  # published visterm counts of labelled images, without pictures
EMBEDDING_KINDS = ("embeddings",)  # vectors of labelled images, without pictures
EMBEDDING_FILES = ("manifest.csv", "embeddings.npz")  # what a folder of them holds
MADE_BY_CODE = (*SYNTHETIC_KINDS, *WEB_KINDS)  # nothing needs to be put in place
LANDMARK_KINDS = ("oxford5k", "landmarks", "synthetic_landmarks")  # ground truth for queries instead of classes
TRIPLET_KINDS = ("triplets", "class_triplets", "synthetic_triplets")  # triplets instead of classes, rated or by code
CLASS_KINDS = ("caltech256", "folder", "synthetic", *VISTERM_KINDS)  # labelled images, or their counts
STUDIES = ("category", "landmark", "web", "finegrained", "embeddings")
"""Sections of studies; a data set belongs to one of them, because its results have one place."""


class Pool(Section):
    """The images that palette and codebook are learned from, sampled once and never used in a split."""

    images: Literal["auto", "clutter", "classes"] = "auto"
    """`clutter`: the clutter images alone; `classes`: a share of each class besides; `auto`: `clutter` where there are
    at least 500 clutter images, else `classes`."""
    share: Number = Field(0.25, ge=0, le=1)
    """With `classes`: share of each class's usable images that goes to the pool, on top of all clutter images."""
    keep: Absent[int] = Field(None, ge=2)
    """With `classes`: each class keeps at least this many usable images. If left out, it keeps as many as a fold needs
    (65 in the papers' protocol)."""


class Painted(Section):
    """Settings of images that are made by code."""

    difficulty: Number = Field(0.5, ge=0, le=1)
    """From 0 (images of one class, category or landmark hardly vary) to 1 (hardly recognisable)."""


class Pictures(Painted):
    """Width and height of images that are made by code."""

    width: int = Field(256, ge=96, le=1024, description="Width of an image in pixels; at most 2.5 times its height.")
    height: int = Field(192, ge=96, le=1024, description="Height of an image in pixels; at most twice its width.")

    @model_validator(mode="after")
    def _has_a_shape(self) -> Self:
        ratio = self.width / self.height
        self.require(0.5 <= ratio <= 2.5, "width / height from 0.5 to 2.5", ratio)
        return self


class SyntheticClasses(Pictures):
    """Settings of a synthetic data set."""

    classes: int = Field(20, ge=2, le=128, description="Number of classes.")
    images_per_class: int = Field(72, ge=2, description="Images per class.")
    clutter_images: int = Field(40, ge=0, description="Images of no class, for the codebook.")


class SyntheticTriplets(Painted):
    """Settings of synthetic images with a graded relevance, and of the ratings of their triplets."""

    categories: int = Field(20, ge=3, le=70, description="Number of categories.")
    held_out: int = Field(4, ge=0, description="Categories among them that are only used for evaluation.")
    images_per_category: int = Field(60, ge=4, description="Training images of a category.")
    evaluation_images_per_category: int = Field(40, ge=4)
    """Further images of a category. The rated triplets are sampled from these."""
    triplets: int = Field(2000, ge=10, description="Rated triplets.")
    noise_images: Number = Field(0.25, ge=0, lt=1)
    """Share of the images of other categories among the results of a text query."""
    size: int = Field(96, ge=48, le=512, description="Width and height of an image in pixels.")

    @property
    def n_noise(self) -> int:
        """Return the number of images of other categories in the pool of each text query."""
        return round(self.evaluation_images_per_category * self.noise_images / (1 - self.noise_images))

    @model_validator(mode="after")
    def _has_enough(self) -> Self:
        others = (self.categories - 1) * self.evaluation_images_per_category
        self.require(self.held_out <= self.categories - 2, "held_out to leave two categories", self.held_out)
        self.require(self.triplets >= self.categories, "triplets of one a category or more", self.triplets)
        self.require(self.n_noise <= others, f"noise_images that are at most {others} images", self.n_noise)
        return self


class ClassTriplets(Section):
    """How triplets are sampled from a folder of class folders and rated by code, by class and appearance."""

    training_share: Number = Field(0.5, gt=0, lt=1)
    """Share of a class's images used for training; the others are used for evaluation."""
    held_out: int = Field(2, ge=0, description="Number of classes, picked at random, that are never trained on.")
    queries: int = Field(20, ge=1, description="Query images of a class.")
    in_class: int = Field(2, ge=0, description="Triplets of a query image whose images are all of its class.")
    out_of_class: int = Field(2, ge=0, description="Triplets of a query image whose negative is of another class.")
    margin: Number = Field(0.1, ge=0)
    """Least difference between the relevance of a positive and that of its negative."""
    pool_noise: int = Field(100, ge=0, description="Images of other classes in the pool of a class.")


class Simulation(Section):
    """Settings of a simulated query log and its visterms (lookalike.data.web_simulation); its number of queries
    and its parts are fitted to the JMLR paper's Table 1.
    """

    n_images: int = Field(2694423, ge=60, le=2700000, description="Training and test images together.")
    words: int = Field(10000, ge=200, le=1000000, description="Size of the codebook.")
    nonzeros: Number = Field(70, ge=5, le=200, description="Mean number of distinct words of an image.")
    topics: int = Field(1000, ge=2, le=20000)
    """Hidden topics of queries and images; at most one for every 100 images."""
    topic_words: int = Field(80, ge=5, description="Distinct words of a topic.")
    styles: int = Field(300, ge=1, le=20000, description="Number of styles, all equally common.")
    topic_share: Number = Field(0.14, ge=0, le=1)
    """Mean share of an image's terms that come from its topic."""
    style_share: Number = Field(0.3, ge=0, le=1)
    """Mean share of an image's terms that come from its style, which has no meaning."""

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        for name in ("nonzeros", "topic_words"):
            most = f"{name} of a tenth of the words, {self.words / 10:g}, or less"
            self.require(getattr(self, name) <= self.words / 10, most, getattr(self, name))
        # an image has up to twice the mean of its topic, and 0.02 are of its query
        mixed = 2 * self.topic_share + 0.02 + self.style_share
        self.require(mixed < 1, "twice topic_share, style_share and 0.02 to come to less than 1", f"{mixed:g}")
        return self


class SyntheticLandmarks(Pictures):
    """Settings of a synthetic data set of landmarks."""

    landmarks: int = Field(7, ge=1, le=24, description="Number of landmarks; each has five queries.")
    images_per_landmark: int = Field(26, ge=10)
    """Images that show a landmark, including those that show little of it."""
    good: Number = Field(0.55, ge=0, le=1)
    """Share of a landmark's images that show it clearly; queries are taken from them."""
    ok: Number = Field(0.27, ge=0, le=1)
    """Share that shows more than a quarter of it; the rest shows less, and is junk."""
    distractors: int = Field(220, ge=1, description="Images that show none.")
    width: int = Field(320, ge=96, le=1024, description="Width of an image in pixels; at most 2.5 times its height.")
    height: int = Field(240, ge=96, le=1024, description="Height of an image in pixels; at most twice its width.")

    @model_validator(mode="after")
    def _has_queries(self) -> Self:
        n_good = round(self.good * self.images_per_landmark)
        self.require(self.good + self.ok <= 1, "good + ok of 1 or less", self.good + self.ok)
        self.require(n_good >= 5, "good x images_per_landmark of 5 or more, one for each query", n_good)
        return self


class DataSet(Section):
    """One data set: what those of all kinds may say."""

    title: Absent[str] = Field(None, description="Name of the data set in captions; the id if left out.")
    kind: str = Field(description="What it is of.")
    demo: bool = False
    """Whether the target `demo` makes a data set of kind `websim`, `visterms` or `embeddings`; it always makes
    synthetic images."""
    stand_in: bool = False
    """Whether code made the images in `path`, to stand in for real ones: exhibits then call them synthetic, and hold no
    number against the papers'."""
    path: Absent[str] = None
    """Folder of the images, relative to the work folder. For `caltech256` and `oxford5k` it holds the archives or the
    folders that they unpack to; for `folder` and `class_triplets` it holds the class folders; for `triplets` the CSV
    files and the images that they name; for `visterms` the counts and their manifest, for `embeddings` the vectors and
    theirs, and the folder may also be one of the project itself; synthetic data needs none."""
    shards: int = Field(4, ge=1, le=256)
    """Number of jobs that descriptors are extracted in, or of files that simulated visterms are in."""
    clutter: list[str] = Field(["257.clutter"])
    """Class folders that belong to no category; they serve the codebook only."""
    pool: Pool = Pool()
    fetch: bool = Field(True, description="Whether the archive may be downloaded when it is not in place.")

    @property
    def is_synthetic(self) -> bool:
        """Tell whether its images, or its log, are made by code, by this workflow or before it."""
        return self.kind in MADE_BY_CODE or self.stand_in

    @property
    def in_demo(self) -> bool:
        """Tell whether it belongs to the demo: its images are made by code, or it says so itself."""
        return self.kind in SYNTHETIC_KINDS or self.demo


class ClassFolders(DataSet):
    """Images in a folder for each class."""

    kind: Literal["caltech256", "folder"]
    """`caltech256`: the published archive, fetched when it is not in `path`; `folder`: any folder of class folders."""
    classes: Absent[Distinct[str]] = Field(None, min_length=1)
    """Names of the class folders that are read; all if left out. Of an archive only these need to be in place, and they
    may have fewer images."""


class LandmarkFolders(DataSet):
    """Photographs of landmarks, or visterm counts, of landmarks or of classes."""

    kind: Literal["landmarks", "visterms"]
    """`landmarks`: a folder with a folder of photographs for each landmark, or any folder of images beside a folder of
    ground-truth files in the format of Oxford5K; `visterms`: a folder of published visterm counts, without images,
    whose labels are classes, or in the landmark study landmarks."""
    ground_truth: Absent[str] = None
    """Folder of the ground-truth files of a data set of kind `landmarks`, relative to the work folder. If it is left
    out, the folders in `path` (of counts, the labels) are the landmarks, and their queries are sampled."""
    distractors: list[str] = Field([])
    """Folders in `path` that show none of the landmarks, where queries are sampled. Their images are only ranked, or
    learned from as negatives."""
    queries: int = Field(5, ge=1, description="Images of each landmark that are queries, where queries are sampled.")

    @model_validator(mode="after")
    def _has_one_truth(self) -> Self:
        if self.ground_truth and self.distractors:
            why = "the ground-truth files say which images show a landmark"
            said = "has `ground_truth` and `distractors`: take `distractors` out, because {why}"
            raise PydanticCustomError("truths", said, {"why": why})
        return self


class InPlace(DataSet):
    """What is read as it is."""

    kind: Literal["oxford5k", "triplets", "embeddings"]
    """`oxford5k`: the published archives; `triplets`: a folder of rated triplets in the form of the public release;
    `embeddings`: vectors and their manifest."""


class TripletsOfClasses(DataSet):
    """Class folders that triplets are sampled from."""

    kind: Literal["class_triplets"]
    """`class_triplets`: triplets that are sampled and rated by code from any folder of class folders."""
    class_triplets: ClassTriplets = ClassTriplets()


class PaintedClasses(DataSet):
    """Classes whose images are made by code."""

    kind: Literal["synthetic"] = Field(description="`synthetic`: classes whose images are made by code.")
    synthetic: SyntheticClasses = SyntheticClasses()


class PaintedLandmarkSet(DataSet):
    """Landmarks whose images are made by code."""

    kind: Literal["synthetic_landmarks"]
    """`synthetic_landmarks`: landmarks whose images and ground truth are made by code."""
    synthetic_landmarks: SyntheticLandmarks = SyntheticLandmarks()


class PaintedTripletSet(DataSet):
    """Triplets whose images are made by code."""

    kind: Literal["synthetic_triplets"]
    """`synthetic_triplets`: images and ratings that are made by code."""
    synthetic_triplets: SyntheticTriplets = SyntheticTriplets()


class SimulatedWeb(DataSet):
    """A query log that is made by code."""

    kind: Literal["websim"] = Field(description="`websim`: a simulated query log and visterms.")
    simulation: Simulation = Simulation()


Places = ClassFolders | LandmarkFolders | InPlace | TripletsOfClasses
AnyDataSet = Annotated[
    Places | PaintedClasses | PaintedLandmarkSet | PaintedTripletSet | SimulatedWeb, Field(discriminator="kind")
]
"""A data set of some kind, which has the keys of this kind and no others."""
