"""Rated image triplets: Deep Ranking beside hand-crafted features (CVPR 2014)."""
