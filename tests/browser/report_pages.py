"""The pages of a finished report, and what there is to see on them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WIDTHS = (360, 900, 1400)
"""CSS pixels: a phone, a tablet, a wide screen."""
MOST_PIXELS = 2500
"""Height of a screenshot that nobody asked for; the whole page where somebody did."""


def asked_for(folder: Path) -> bool:
    """Whether a person wants the screenshots in this folder."""
    return os.environ.get("LOOKALIKE_SCREENSHOTS") == str(folder)


def take_screenshot(page: Page, folder: Path, name: str) -> Path:
    """Write what a page looks like, from its top."""
    width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    shown = height if asked_for(folder) else min(height, MOST_PIXELS)
    path = folder / f"{name}.png"
    page.screenshot(path=path, full_page=True, timeout=60_000, clip={"x": 0, "y": 0, "width": width, "height": shown})
    return path


def overflow(page: Page) -> str:
    """What reaches past the right edge of a page that scrolls sideways; "" where it does not."""
    return str(
        page.evaluate(
            """() => {
              const root = document.documentElement
              if (root.scrollWidth <= root.clientWidth) return ""
              const wide = [...document.body.querySelectorAll("*")].filter((one) => {
                const box = one.getBoundingClientRect()
                return box.width && box.right > root.clientWidth + 1 && !one.closest(".scroll")
              })
              const found = wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 120))
              return `${root.scrollWidth} > ${root.clientWidth}: ` + found
            }"""
        )
    )


def read_off(figure: Locator, across: float, up: float = 0.45) -> str:
    """Move the pointer over the first plot of a figure, to a share of its width and height; what is told there."""
    page = figure.page
    plot = figure.locator(".curves-plot [role=img]").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + across * box["width"] - 3, box["y"] + up * box["height"])
    page.mouse.move(box["x"] + across * box["width"], box["y"] + up * box["height"])
    tip = page.locator(".curves-tip:visible").first
    tip.wait_for()
    return tip.inner_text()
