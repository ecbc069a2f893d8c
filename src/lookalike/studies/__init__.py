"""The experiments of the papers, one folder (room) each, and what several of them share."""
