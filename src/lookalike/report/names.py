"""Words of pages from the files beside this one: terms with their sentences, and names of keys of the code."""

from pathlib import Path
from typing import cast

import yaml

GLOSSARY, NAMES = (Path(__file__).with_name(name) for name in ("glossary.yaml", "names.yaml"))


def terms() -> dict[str, str]:
    """Return a plain sentence for every term, in alphabetical order."""
    written = yaml.safe_load(GLOSSARY.read_text(encoding="utf-8"))
    return dict(sorted(written.items(), key=lambda item: item[0].lower()))


COLUMNS, VALUES, LIBRARIES = cast(
    "tuple[dict[str, str], ...]", tuple(yaml.safe_load(NAMES.read_text(encoding="utf-8")).values())
)
"""Keys of the code to what pages call them."""
