"""``python -m lookalike``: the command ``lookalike``."""

from __future__ import annotations

import sys

from lookalike.cli import main

if __name__ == "__main__":
    sys.exit(main())
