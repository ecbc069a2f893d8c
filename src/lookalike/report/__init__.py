"""What a reader opens: the results of every study as pages, and as objects for notebooks."""

from lookalike.exhibits.registry import PAPERS

PAGES = ("index", *(paper.page for paper in PAPERS.values()), "beyond", "claims", "gallery", "made")
"""Pages of the HTML report, by their names without ``.html``; all of them are written, whatever has been run."""
