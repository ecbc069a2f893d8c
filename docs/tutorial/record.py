"""Run the tutorial's commands as its page prints them, and put what they print below them: `make tutorial`.

It runs in an empty folder, on the images that the page's second step draws. The last page that a command writes is kept
as a picture, which needs Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WIDTH, HEIGHT = 1300, 760
"""Size of the window that the picture is taken of."""


SHOWN = re.compile(r"^```(console|python)\n((?:(?!^```).)*)^```\n+```text\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
"""A block whose output the page shows below it, and the output."""


def run(language: str, text: str, folder: Path) -> str:
    """Return what a block prints on standard output."""
    shell = "\n".join(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))
    command = ["bash", "-ec", shell] if language == "console" else [sys.executable, "-c", text]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def with_output(found: re.Match[str], folder: Path) -> str:
    """Return a block and, below it, what it prints now."""
    return found[0].replace(found[3], f"{run(found[1], found[2], folder).rstrip()}\n")


def main() -> None:
    """Write the outputs and the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".venv").symlink_to(ROOT / ".venv")
        for source in sorted((ROOT / "results/demo/images").glob("0*")):
            shutil.copytree(source, folder / "photos" / source.name)
        page = HERE / "index.md"
        page.write_text(SHOWN.sub(lambda found: with_output(found, folder), page.read_text(encoding="utf-8")))
        browser = shutil.which("chromium") or "chromium-browser"
        shot = folder / "neighbours.png"
        command = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", f"--screenshot={shot}"]
        ranking = (folder / "neighbours.html").as_uri()
        subprocess.run([*command, f"--window-size={WIDTH},{HEIGHT}", ranking], check=True, stderr=subprocess.DEVNULL)
        with Image.open(shot) as picture:
            picture.convert("RGB").save(HERE / "neighbours.webp", quality=80, method=6)


if __name__ == "__main__":
    main()
