#!/usr/bin/env python3
"""Submit one of Snakemake's jobs to Kubernetes, as job.yaml says, and print the name it got there.

Snakemake calls it for every job (config.yaml beside this file) with the path of a script on the shared volume.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import yaml


def manifest(template: dict[str, Any], script: str, threads: int, memory: int) -> dict[str, Any]:
    """Return the Kubernetes job that runs a script with so many processors and megabytes of memory."""
    template["metadata"]["name"] = f"lookalike-{uuid.uuid4()}"
    container = template["spec"]["template"]["spec"]["containers"][0]
    container["command"] = ["/bin/sh", script]
    asked = {"cpu": str(threads), "memory": f"{memory}M"}
    # no limit of processors: `threads` is what a job was planned with, and a throttled one only takes longer
    container["resources"] = {"requests": asked, "limits": {"memory": asked["memory"]}}
    return template


def main() -> None:
    """Hand the job to kubectl; its name there is what status.sh and cancel.sh are called with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--memory", type=int, required=True, help="megabytes")
    parser.add_argument("script", type=Path)
    arguments = parser.parse_args()
    template = yaml.safe_load(Path(__file__).with_name("job.yaml").read_text(encoding="utf-8"))
    job = manifest(template, str(arguments.script.resolve()), arguments.threads, arguments.memory)
    done = subprocess.run(["kubectl", "create", "-f", "-"], input=json.dumps(job), text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"kubectl could not create the job (status {done.returncode}): see what it says above")
    print(job["metadata"]["name"])


if __name__ == "__main__":
    main()
