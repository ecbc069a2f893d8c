"""What the settings of a web study must hold to before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lookalike.core.errors import LookalikeError
from lookalike.core.seeds import integer_seed
from lookalike.core.settings.data_sets import WEB_KINDS


def check(settings: Mapping[str, Any], dataset: str) -> None:
    """Refuse settings of a web study that cannot work together, or a log that cannot be simulated."""
    training, data, place = settings["web"][dataset]["training"], settings["datasets"][dataset], f"web.{dataset}"
    if data["kind"] not in WEB_KINDS:
        raise LookalikeError(
            f"config: {place} needs a data set with a query log, of kind {', '.join(WEB_KINDS)}, not {data['kind']}"
        )
    check_simulation(dataset, data["simulation"], integer_seed(settings["seed"], "datasets", dataset))
    if training["interval"] % training["block"]:
        raise LookalikeError(
            f"config: {place}.training.interval, {training['interval']}, must be a multiple of training.block, "
            f"{training['block']}"
        )
    if training["relevance"] == "co_clicks" and (training["theta"] or "share" not in training):
        raise LookalikeError(
            f"config: {place}.training: co_clicks are cut by `share`, such as 0.01, and not by theta: set it"
        )
    if training["relevance"] == "joint" and "share" in training:
        raise LookalikeError(
            f"config: {place}.training.share goes with co_clicks only: cut the joint relevance by theta"
        )


def check_simulation(dataset: str, simulation: Mapping[str, Any], seed: int) -> None:
    """Refuse a query log that the simulation cannot draw."""
    # imported here because it loads the kernels that draw the log
    from lookalike.datasets.web_simulation import WebSimulation

    try:
        WebSimulation.from_settings(simulation, seed)
    except LookalikeError as error:
        raise LookalikeError(f"config: datasets.{dataset}.simulation: {error}") from error
