"""The sections of config.yaml that all studies share, those of representations among them."""

from __future__ import annotations

from pydantic import Field

from lookalike.core.instructions import Instructions
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.data_sets import AnyDataSet
from lookalike.core.settings.methods import Method
from lookalike.core.settings.model import Absent, Id, Number, Section


class Descriptor(Section):
    """One block descriptor, 59 uniform LBP(8,2) bins beside the bins of a colour palette."""

    palette_colours: int = Field(20, ge=2, le=128, description="Colours of the palette; the papers use 20.")
    palette_pixels: int = Field(400000, ge=1000)
    """Pixels, sampled evenly over the pool's images, that the palette is learned from."""


class Representation(Section):
    """One bag-of-visterms representation."""

    descriptor: str = Field(description="Id of the descriptor that it is made from.")
    words: int = Field(ge=2)
    """Words of the codebook; the papers use 1,000 for the comparisons and 10,000 at web scale."""
    max_descriptors: int = Field(1000000, ge=2)
    """At most this many blocks, sampled evenly over the pool's images, train the codebook."""
    iterations: int = Field(25, ge=1, description="Iterations of k-means.")


class SiftSettings(Section):
    """SIFT keypoints and their descriptors (OpenCV)."""

    n_max: int = Field(0, ge=0, description="At most this many keypoints an image, the strongest; 0 keeps all.")
    contrast_threshold: Number = Field(0.04, gt=0)
    """Keypoints with less contrast are left out. OpenCV divides it by the 3 layers of an octave: the 0.03 of Lowe
    (2004), section 4, would be 0.09 here."""
    max_side: int = Field(0, ge=0)
    """Images are made smaller until no side has more pixels; 0 keeps their size."""


class CodebookTraining(Section):
    """What decides a codebook that is learned."""

    words: int = Field(ge=2, description="Words of the codebook; the paper uses 10,000, 100,000 and 1,000,000.")
    root: bool = False
    """RootSIFT: square roots of the descriptors scaled to sum 1 (Arandjelovic and Zisserman 2012)."""
    max_descriptors: Absent[int] = Field(None, ge=2)
    """At most this many descriptors, sampled evenly over the images, train the codebook; all if left out."""
    iterations: int = Field(10, ge=1, description="Iterations of approximate k-means.")


class Codebook(CodebookTraining):
    """One codebook of local features, by approximate k-means, or the one whose words the benchmark publishes."""

    title: Absent[str] = Field(None, description="Size as tables name it; the number of words if left out.")
    keypoints: Absent[str] = Field(None, description="Id of the keypoints; needed unless `published`.")
    published: bool = False
    """`true`: take the words that the benchmark publishes for every image (1,000,000 words of Hessian-affine SIFT),
    from their archive, fetched when it is not in the data set's `path`."""


class Ratings(Section):
    """Galleries of what OASIS retrieves, and the human evaluation of it (JMLR section 5.2.3), on one partition of one
    subset; not run if left out.
    """

    subset: str = Field(description="Id of the subset whose test images are queried and shown.")
    fold: int = Field(0, ge=0, description="Number of the partition.")
    path: Absent[str] = None
    """Folder of the raters' CSV files, as the page exports them, relative to the work folder; `data/ratings/` and the
    data set's id if left out. Without a file there, a panel is simulated."""
    queries: int = Field(25, ge=1, description="Query images that are rated, those of largest total relevance.")
    retrieved: int = Field(10, ge=1, le=10, description="First images of each query that are rated.")
    random: int = Field(10, ge=0, description="Images without relevance to a query that are mixed in.")


class Shared(Section):
    """Keys of config.yaml that every study may read. Keys that are left out take the default given here."""

    seed: int = Field(2010, ge=0)
    """Root seed, a non-negative integer; every job derives a stream of its own from it by name."""
    instructions: Instructions = "x86-64-v3"
    """Vector instructions that the libraries of every job may use. With x86-64-v3 (AVX2 and FMA) all processors that
    have them give the same digits; `native` lets each library choose by processor. Changing it runs no
    finished job again."""
    datasets: dict[Id, AnyDataSet] = Field(description="Where images come from, by data set id.")
    descriptors: dict[Id, Descriptor] = Field({})
    """Block descriptors (OASIS, JMLR section 3), by id; extracted once and shared by representations."""
    representations: dict[Id, Representation] = Field({}, description="Bag-of-visterms representations, by id.")
    methods: dict[Id, Method] = Field({}, description="Learners and how their hyper-parameters are chosen, by id.")
    keypoints: dict[Id, SiftSettings] = Field({})
    """Local features of the landmark study (SOML, AAAI 2014), by id; extracted once and shared by codebooks."""
    codebooks: dict[Id, Codebook] = Field({}, description="Codebooks of local features, by id.")

    def painting_seed(self, dataset: str) -> int:
        """Return the seed of a data set that is made by code, from its name."""
        return integer_seed(self.seed, "datasets", dataset)
