"""The experiments of the papers, one room each, and what several of them share."""
