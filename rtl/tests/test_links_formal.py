# SPDX-License-Identifier: Apache-2.0
"""Bounded proof of the router by yosys-smtbmc. Skips, with the reason, where yosys or z3 is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RTL = Path(__file__).resolve().parent.parent


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.skipif("ANELLO_LONG" not in os.environ, reason="minutes: ANELLO_LONG=1 runs it")
def test_router(tmp_path: Path) -> None:
    depth = 9
    yosys, solver = tool("yosys"), tool("yosys-smtbmc")
    tool("z3")
    model = tmp_path / "router.smt2"
    sources = " ".join(
        str(RTL / path) for path in ("common/axis_skid.sv", "links/router.sv", "formal/router_formal.sv")
    )
    script = (
        f"read_verilog -formal -sv {sources}; prep -top router_formal -nordff; memory_map; flatten; async2sync; "
        f"dffunmap; opt_clean; write_smt2 -wires {model}"
    )
    done = subprocess.run([yosys, "-q", "-p", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for how in ([], ["-c"]):  # the assertions hold, and what is covered is reached, so they do not hold of nothing
        done = subprocess.run(
            [solver, "-s", "z3", *how, "-t", str(depth), str(model)], capture_output=True, text=True, check=False
        )
        assert "Status: PASSED" in done.stdout, done.stdout[-3000:]
