"""A real headless Chromium of the system, a tab of it that is watched, and the pages of a report."""

import os
import re
import shutil

import pytest
from made_report import write_toy_report


@pytest.fixture(scope="session")
def chromium():
    """The browser; skips where the system has none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium: install Debian's chromium, or set CHROMIUM to the program")
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: make .venv/.development")
    as_root = os.geteuid() == 0  # Chromium's sandbox refuses to run as root
    how = {"executable_path": program, "chromium_sandbox": not as_root}
    with playwright.sync_playwright() as driver, driver.chromium.launch(**how) as browser:
        yield browser


@pytest.fixture
def context(chromium):
    """A browser profile of its own, with nothing stored."""
    with chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True) as context:
        context.set_default_timeout(10_000)
        yield context


@pytest.fixture
def tab(context):
    """A tab; afterwards its pages must have been silent, and have asked for no file besides themselves."""
    page, asked, complaints = context.new_page(), list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    yield page
    assert complaints == []
    assert [url for url in asked if not re.match(r"file:[^#]*\.html(#|$)|data:|blob:", url)] == []


@pytest.fixture(scope="session")
def report(chromium, tmp_path_factory):
    """Folder of a finished report of a few exhibits of every kind and state."""
    return write_toy_report(tmp_path_factory.mktemp("report"))
