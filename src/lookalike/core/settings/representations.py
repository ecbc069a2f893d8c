"""Settings of representations: block descriptors and visterms, keypoints and codebooks."""

from __future__ import annotations

from pydantic import Field

from lookalike.core.settings.model import Number, Section, left_out


class Descriptor(Section):
    """One block descriptor, 59 uniform LBP(8,2) bins beside the bins of a colour palette."""

    palette_colours: int = Field(20, ge=2, le=128, description="Colours of the palette; the papers use 20.")
    palette_pixels: int = Field(400000, ge=1000)
    """Pixels, drawn evenly over the pool's images, that the palette is learned from."""


class Representation(Section):
    """One bag-of-visterms representation."""

    descriptor: str = Field(description="Id of the descriptor that it is made from.")
    words: int = Field(ge=2)
    """Words of the codebook; the papers use 1,000 for the comparisons and 10,000 at web scale."""
    hellinger: bool = False
    """Take square roots of the histograms before clustering; not in the papers."""
    max_descriptors: int = Field(1000000, ge=2)
    """At most this many blocks, drawn evenly over the pool's images, train the codebook."""
    iterations: int = Field(25, ge=1, description="Iterations of k-means.")


class Keypoints(Section):
    """SIFT keypoints and their descriptors (OpenCV)."""

    n_max: int = Field(0, ge=0, description="At most this many keypoints an image, the strongest; 0 keeps all.")
    contrast_threshold: Number = Field(0.04, gt=0, description="Keypoints with less contrast are left out.")
    max_side: int = Field(0, ge=0)
    """Images are made smaller until no side has more pixels; 0 keeps their size."""


class Codebook(Section):
    """One codebook of local features, by approximate k-means, or the one whose words the benchmark publishes."""

    title: str = left_out(description="Size as tables name it; the number of words if left out.")
    keypoints: str = left_out(description="Id of the keypoints that it is learned from; needed unless `published`.")
    published: bool = False
    """`true`: take the words that the benchmark publishes for every image (1,000,000 words of Hessian-affine SIFT),
    from their archive, fetched when it is not in the data set's `path`."""
    words: int = Field(ge=2, description="Words of the codebook; the paper uses 10,000, 100,000 and 1,000,000.")
    root: bool = False
    """RootSIFT: square roots of the descriptors scaled to sum 1 (Arandjelovic and Zisserman 2012)."""
    max_descriptors: int = left_out(ge=2)
    """At most this many descriptors, drawn evenly over the images, train the codebook; all if left out."""
    iterations: int = Field(10, ge=1, description="Iterations of approximate k-means.")
