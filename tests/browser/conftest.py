"""A real headless Chromium of the system, a tab of it with a rating page, and the pages of a report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from made_report import made_report
from rating_pages import RatingPage, Watched, make_page, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser; skips where the system has none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium: install Debian's chromium, or set CHROMIUM to the program")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: make .venv/.development")
    as_root = os.geteuid() == 0  # Chromium's sandbox refuses to run as root
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, chromium_sandbox=not as_root)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def rating_page(tmp_path_factory: pytest.TempPathFactory) -> RatingPage:
    return make_page(tmp_path_factory.mktemp("rating"))


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser profile of its own, with nothing stored."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def tab(context: BrowserContext, rating_page: RatingPage) -> Iterator[Watched]:
    """The page, opened from its file; afterwards it must have been silent and without any network."""
    watched = watch(context.new_page())
    watched.page.goto(rating_page.file.as_uri())
    yield watched
    assert watched.complaints == []
    assert [url for url in watched.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture(scope="session")
def report(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished report: that of `LOOKALIKE_REPORT`, else of a few exhibits of every kind and state."""
    if "LOOKALIKE_REPORT" in os.environ:
        return Path(os.environ["LOOKALIKE_REPORT"]).resolve()
    return made_report(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for screenshots that a person can look at."""
    if "LOOKALIKE_SCREENSHOTS" not in os.environ:
        return tmp_path_factory.mktemp("screenshots")
    folder = Path(os.environ["LOOKALIKE_SCREENSHOTS"])
    folder.mkdir(parents=True, exist_ok=True)
    return folder
