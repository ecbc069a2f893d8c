"""Exhibits of the category study that are no table and no curve of its numbers (JMLR 5.3 and 6)."""

from lookalike.studies.category import neighbours as neighbours
from lookalike.studies.category import pictures as pictures
