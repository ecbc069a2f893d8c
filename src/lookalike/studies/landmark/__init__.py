"""Landmark retrieval with diagonal metrics (SOML, AAAI 2014)."""
