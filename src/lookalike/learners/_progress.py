"""The progress bar that learners show where ``verbose`` is above 0."""

from __future__ import annotations

from typing import Any, Self


class Progress:
    """A bar with the present values of what is learned beside it, or nothing.

    Parameters
    ----------
    total : int
        Steps to the end.
    verbose : int
        The learner's; 0 or less shows nothing.
    title : str
        The learner's name.
    many : bool, default=False
        Steps come in thousands, and are printed so.
    """

    def __init__(self, total: int, verbose: int, title: str, *, many: bool = False) -> None:
        self._bar: Any = None
        if verbose > 0:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="step", unit_scale=many, desc=title)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, steps: int = 1, **values: float) -> None:
        """Move on by so many steps, and show these values."""
        if self._bar is not None:
            self._bar.set_postfix({name: f"{value:.4g}" for name, value in values.items()}, refresh=False)
            self._bar.update(steps)
