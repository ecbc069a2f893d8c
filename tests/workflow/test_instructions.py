"""Which instructions the libraries of a job use, whatever the processor and the environment would have them choose."""

import json
import sys

import pytest
from project import copy_project, run_in

from lookalike.core.instructions import NEEDED, X86_64_V3, hold_instructions, processor_flags, why_not_same_digits

needs_v3 = pytest.mark.skipif(
    bool(why_not_same_digits(processor_flags())), reason="this processor has no AVX2, so instructions are not fixed"
)

OF_A_SHELL = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 AVX2",
    "NUMBA_CPU_NAME": "nehalem",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "AUTO",
    "FAISS_SIMD_LEVEL": "NONE",
    "FAISS_OPT_LEVEL": "generic",
    "OPENCV_CPU_DISABLE": "AVX2",
    "OPENCV_IPP": "",
}
"""What somebody's shell may hold: older instructions than either setting asks for."""
ASKING = """
import importlib.util, json, os
import cv2, faiss, numpy, scipy.linalg, threadpoolctl
from numba.core.registry import cpu_target

pools = [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"]
found = {
    "OpenBLAS": sorted({pool["architecture"] for pool in pools}),
    "NumPy": numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", []),
    "numba": cpu_target.target_context.codegen().magic_tuple()[1:],
    "faiss": faiss.SIMDConfig.get_level_name(),
    "OpenCV": [word.strip("*") for word in cv2.getCPUFeaturesLine().split() if not word.endswith("?")],
    "IPP": cv2.ipp.useIPP(),
}
if importlib.util.find_spec("torch"):
    import torch

    os.environ["MKL_VERBOSE"] = "1"
    found["torch"] = torch.backends.cpu.get_cpu_capability()
    with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON), torch.no_grad():
        torch.nn.Conv2d(16, 16, 3)(torch.ones(2, 16, 32, 32))
        torch.ones(64, 64) @ torch.ones(64, 64)
print(json.dumps(found), flush=True)
"""
RULE = """
rule ask:
    output: "said.txt"
    shell: "{python} asking.py > {{output}}"
"""


def said_in_a_job(folder, instructions):
    """Return what the libraries of a job say that they use, and all that was said."""
    project = copy_project(folder)
    (project.folder / "asking.py").write_text(ASKING)
    with (project.folder / "Snakefile").open("a") as file:
        file.write(RULE.format(python=sys.executable))
    command = project.command("said.txt", "--config", f"instructions={instructions}")
    done = run_in(project.folder, command, project.environment() | OF_A_SHELL)
    assert done.returncode == 0, done.stdout
    words = (project.folder / "said.txt").read_text()
    return json.loads(words[words.rindex('{"OpenBLAS') :]), words


@needs_v3
def test_every_library_of_a_job_uses_avx2_whatever_the_shell_says(tmp_path):
    found, words = said_in_a_job(tmp_path, "x86-64-v3")
    expected = {"OpenBLAS": ["Haswell"], "numba": ["x86-64-v3", ""], "faiss": "AVX2", "IPP": False}
    assert found.items() >= expected.items()
    assert found["NumPy"]
    assert "AVX2" in found["OpenCV"]
    assert not [name for name in found["NumPy"] + found["OpenCV"] if name.startswith(("AVX512", "X86_V4"))]
    if "torch" in found:  # which need not be installed
        assert found["torch"] == "AVX2"
        assert "isa:Intel AVX2\n" in words
        assert "jit:avx2," in words
        assert "CNR:COMPATIBLE" in words or "MKL_VERBOSE" not in words, "a build of torch without MKL says nothing"


def test_native_leaves_the_choice_to_the_environment(tmp_path):
    found, _ = said_in_a_job(tmp_path, "native")
    assert "Haswell" not in found["OpenBLAS"]
    assert found["numba"][0] == "nehalem"


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ("fma bmi1 bmi2 f16c abm movbe avx2 avx512f", ""),
        ("fma bmi1 bmi2 f16c movbe", "this processor has no AVX2"),
        ("fma bmi1 bmi2 f16c movbe avx2", "this processor has no ABM"),
        ("", "this processor is not known to have AVX2"),
    ],
)
def test_a_processor_without_avx2_is_told_that_digits_may_differ(flags, why):
    said = why_not_same_digits(set(flags.split()))
    assert said.startswith(why)
    assert ("digits may differ" in said) == bool(why)


def test_an_older_node_lets_go_what_the_node_that_sent_the_job_has_held():
    environment = {"NUMBA_CPU_NAME": "nehalem", "PATH": "/bin"}
    assert not hold_instructions(environment, {*NEEDED, "avx512f"})
    assert environment == X86_64_V3 | {"PATH": "/bin"}
    environment["MKL_CBWR"] = "AUTO"
    assert "digits may differ" in hold_instructions(environment, {"sse4_2"})
    assert environment == {"PATH": "/bin", "MKL_CBWR": "AUTO"}
