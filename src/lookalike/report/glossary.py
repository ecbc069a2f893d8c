"""Terms that pages explain, from `glossary.yaml` beside this file."""

from pathlib import Path

import yaml


def terms() -> dict[str, str]:
    """Return a plain sentence for every term, in alphabetical order."""
    written = yaml.safe_load(Path(__file__).with_name("glossary.yaml").read_text(encoding="utf-8"))
    return dict(sorted(written.items(), key=lambda item: item[0].lower()))
