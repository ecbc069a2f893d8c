"""The JSON schema of the settings, with which an editor completes and checks them: ``make schema`` writes it."""

from __future__ import annotations

import json

from lookalike.studies.settings import Settings

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def settings_schema() -> str:
    """Return the schema of config.yaml and of config/demo.yaml, as the models of their sections have it."""
    return json.dumps({"$schema": DIALECT, **Settings.model_json_schema()}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(settings_schema(), end="")
