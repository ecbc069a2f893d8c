"""Tests of networks are for those who have torch: make test installs envs/requirements-deep-cpu.txt."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["test_*.py"]
