"""What a reader opens: the results of every study as pages, and as objects for notebooks."""

PAGES = ("index", "jmlr2010", "draft2009", "nips2009", "aaai2014", "cvpr2014", "beyond", "claims", "gallery", "made")
"""Pages of the HTML report, by their names without ``.html``; all of them are written, whatever has been run."""
