"""The shape of config.yaml: a small model for every section, joined in `schema`."""
