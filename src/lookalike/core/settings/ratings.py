"""Settings of the human evaluation, which the category study shows the images for."""

from __future__ import annotations

from pydantic import Field

from lookalike.core.settings.model import ABSENT, Absent, Section


class Ratings(Section):
    """Galleries of what OASIS retrieves, and the human evaluation of it (JMLR section 5.2.3), on one partition of one
    subset; not run if left out.
    """

    subset: str = Field(description="Id of the subset whose test images are queried and shown.")
    fold: int = Field(0, ge=0, description="Number of the partition.")
    path: Absent[str] = ABSENT
    """Folder of the raters' CSV files, as the page exports them, relative to the work folder; `data/ratings/` and the
    data set's id if left out. Without a file there, a panel is simulated."""
    queries: int = Field(25, ge=1, description="Query images that are rated, those of largest total relevance.")
    retrieved: int = Field(10, ge=1, le=10, description="First images of each query that are rated.")
    random: int = Field(10, ge=0, description="Images without relevance to a query that are mixed in.")
