# SPDX-License-Identifier: Apache-2.0
"""The memory path: in Verilator under cocotb, and proofs of its parts. Skips, with the reason, without the tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from simulation import RTL, passes, sources_of, use_verilator

BUILD = RTL.parent / "build" / "rtl"


@pytest.mark.skipif(
    "ANELLO_LONG" not in os.environ, reason="in work: its test of anything at random has no verdict yet"
)
def test_memory_path() -> None:
    passes("memory", [*sources_of("memory"), RTL / "tests/memory_tb.sv"], "memory_tb")


@pytest.mark.parametrize("top", ["memory_path", "corundum_dma"])
def test_lint(top: str) -> None:
    use_verilator()
    binary = Path(os.environ["VERILATOR_ROOT"]) / "bin/verilator"
    sources = sorted((RTL / "memory").glob("*.sv"))
    done = subprocess.run([binary, "--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "--top-module", top, *sources],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif("ANELLO_LONG" not in os.environ, reason="minutes: ANELLO_LONG=1 runs it")
@pytest.mark.parametrize(("top", "depth"), [("write_split_proof", 12), ("completion_ring_proof", 16)])
def test_proof(top: str, depth: int, tmp_path: Path) -> None:
    """No trace of `depth` cycles breaks an assertion; and one exists that reaches what the proof is about."""
    if not shutil.which("yosys") or not shutil.which("yosys-smtbmc"):
        pytest.skip("yosys is not installed")
    solver = shutil.which("z3") or shutil.which("z3", path=str(Path(sys.executable).parent))
    if not solver:
        pytest.skip("z3 is not installed")
    env = os.environ | {"PATH": f"{Path(solver).parent}{os.pathsep}{os.environ['PATH']}"}
    model = tmp_path / f"{top}.smt2"
    sources = [str(p) for p in [*sorted((RTL / "memory").glob("*.sv")), RTL / "formal" / f"{top}.sv"]]
    script = (f"read_verilog -sv -formal {' '.join(sources)}; prep -top {top}; flatten; memory_map; async2sync; "
              f"opt -full; dffunmap; opt_clean; write_smt2 -wires {model}")  # fmt: skip
    made = subprocess.run(["yosys", "-q", "-p", script], capture_output=True, text=True, env=env, check=False)
    assert made.returncode == 0, made.stderr
    for mode, said in (([], "PASSED"), (["-c"], "PASSED")):
        run = subprocess.run(["yosys-smtbmc", "-s", "z3", *mode, "-t", str(depth), str(model)], capture_output=True,
                             text=True, env=env, check=False)  # fmt: skip
        assert said in run.stdout, run.stdout[-2000:]
