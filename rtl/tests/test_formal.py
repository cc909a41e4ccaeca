# SPDX-License-Identifier: Apache-2.0
"""Bounded proofs by yosys-smtbmc. Skips, with the reason, where yosys or z3 is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RTL = Path(__file__).resolve().parent.parent


def tool(name: str) -> str:
    """Of the package index, beside this Python, else the distribution's."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which(f"yowasp-{name}", path=path) or shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed: anello nanet tools")
    return found


def model_of(module: str) -> Path:
    out = RTL.parent / "build" / "rtl" / f"{module}.smt2"
    out.parent.mkdir(parents=True, exist_ok=True)
    sources = f"{RTL / 'common' / module}.sv {RTL / 'formal' / module}_formal.sv"
    script = (
        f"read_verilog -formal -sv {sources}; prep -top {module}_formal -nordff; memory_map; flatten; async2sync; "
        f"dffunmap; opt_clean; write_smt2 -wires {out}"
    )
    done = subprocess.run([tool("yosys"), "-q", "-p", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.skipif("ANELLO_LONG" not in os.environ, reason="minutes: ANELLO_LONG=1 runs it")
@pytest.mark.parametrize(("module", "depth"), [("axis_skid", 16), ("axis_fifo", 11)])
def test_bounded_proof(module: str, depth: int) -> None:
    """What is asserted never fails; what is covered can be reached, so that it is not said of nothing."""
    solver, path = tool("yosys-smtbmc"), f"{Path(tool('z3')).parent}{os.pathsep}{os.environ['PATH']}"
    model = model_of(module)
    for how in ([], ["-c"]):
        command = [solver, "-s", "z3", *how, "-t", str(depth), str(model)]
        done = subprocess.run(command, capture_output=True, env=os.environ | {"PATH": path}, text=True, check=False)
        assert "Status: PASSED" in done.stdout, done.stdout[-3000:]
