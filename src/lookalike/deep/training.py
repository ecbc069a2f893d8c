"""The two trainings of the Deep Ranking network, as the workflow and other programs import them.

First the ConvNet path learns classes (`pretrain`), then the whole network learns to rank (`train_ranking`).
"""

from __future__ import annotations

from lookalike.deep.images import ArrayImages, FileImages, ImageSource, batches, load_pixels
from lookalike.deep.loop import Trained
from lookalike.deep.pretraining import pretrain
from lookalike.deep.ranking import hold_out, train_ranking
from lookalike.deep.settings import PretrainingSettings, RankingSettings

__all__ = [
    "ArrayImages",
    "FileImages",
    "ImageSource",
    "PretrainingSettings",
    "RankingSettings",
    "Trained",
    "batches",
    "hold_out",
    "load_pixels",
    "pretrain",
    "train_ranking",
]
