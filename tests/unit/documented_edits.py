"""Does what a how-to page says: code blocks with a caption are new files, diffs are edits of files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```\{code-block\} (\w+)\n:caption: (\S+)\n\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def documented_edits(page):
    """Language, file and text of every captioned block of a page, in order."""
    return [(found[1], found[2], found[3]) for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))]


def apply_edits(page, folder):
    """Write the page's new files into a copy of the project and edit those that it edits; return all of them."""
    changed = []
    for language, name, text in documented_edits(page):
        path = folder / name
        if language == "diff":
            before = path.read_text(encoding="utf-8")
            old, new = sides(text)
            assert before.count(old) == 1, f"{page.name}: this stands in {name} {before.count(old)} times:\n{old}"
            path.write_text(before.replace(old, new), encoding="utf-8")
        else:
            assert not path.exists(), f"{page.name}: {name} is there already"
            path.write_text(text, encoding="utf-8")
        changed.append(path)
    return changed


def sides(diff):
    """Return what a diff finds and what it puts there; a blank line belongs to both."""
    lines = diff.splitlines()
    old = [line[1:] for line in lines if line[:1] in (" ", "-", "")]
    new = [line[1:] for line in lines if line[:1] in (" ", "+", "")]
    return "\n".join(old) + "\n", "\n".join(new) + "\n"
