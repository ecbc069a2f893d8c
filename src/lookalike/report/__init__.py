"""What a reader opens: the results of every study as pages, and as objects for notebooks."""

from lookalike.exhibits.registry import PAPERS

SNAKEMAKE = ".venv/bin/snakemake --cores 2"
"""How a command of the workflow begins wherever one is printed to be pasted: as in README, in a clone's folder."""
PAGES = ("index", *(paper.page for paper in PAPERS.values()), "beyond", "claims", "ledger", "gallery", "made")
"""Pages of the HTML report, by their names without ``.html``; all of them are written, whatever has been run."""
