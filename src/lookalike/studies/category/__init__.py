"""Labelled images: OASIS beside its competitors (JMLR 5.3)."""
