# SPDX-License-Identifier: Apache-2.0
"""Proofs by yosys-smtbmc and z3: for every sequence of inputs up to a bound, or of any length by induction. Skips, with
the reason, where the tools are not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from simulation import BUILD, LONG, RTL

HERE = Path(sys.executable).parent


@dataclass(frozen=True)
class Proof:
    """top: in rtl/formal; sources: below rtl/; depth: cycles; cover: to reach what it is about, 0: as depth."""

    top: str
    sources: tuple[str, ...]
    depth: int
    cover: int = 0
    induction: int = 0


PROOFS = {
    "axis_skid": Proof("axis_skid_formal", ("common/axis_skid",), 16),
    "merge_entry": Proof("merge_entry_formal", ("common/axis_skid", "data/merge_entry"), 12),
    "axis_fifo": Proof("axis_fifo_formal", ("common/axis_fifo",), 11),
    "router": Proof("router_formal", ("common/axis_skid", "links/router"), 9),
    "write_split": Proof("write_split_proof", ("memory/write_split",), 8),
    "record_writer": Proof("record_writer_proof", ("memory/record_writer", "memory/write_split"), 14),
    "list_control": Proof("list_control_proof", ("formal/list_table_one", "memory/list_control"), 22),
    "completion_ring": Proof("completion_ring_proof", ("memory/completion_ring", "memory/write_queue"), 16),
}
QUICK = ("axis_skid", "merge_entry", "write_split", "completion_ring")


def tool(name: str) -> str:
    """Finds a tool: the package index's, next to this Python, else the distribution's."""
    path = f"{HERE}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which(f"yowasp-{name}", path=path) or shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"{name} is not installed: anello nanet tools")
    return found


def model_of(proof: Proof) -> Path:
    out = BUILD / f"{proof.top}.smt2"
    out.parent.mkdir(parents=True, exist_ok=True)
    sources = " ".join(str(RTL / f"{name}.sv") for name in (*proof.sources, f"formal/{proof.top}"))
    script = (
        f"read_verilog -formal -sv {sources}; prep -top {proof.top} -nordff; flatten; memory_map; async2sync; "
        f"opt -full; dffunmap; opt_clean; write_smt2 -wires {out}"
    )
    done = subprocess.run([tool("yosys"), "-q", "-p", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else LONG) for name in PROOFS])
def test_proof(name: str) -> None:
    """No assertion ever fails, and all cover points can be reached, so that the assertions are tested at all."""
    proof = PROOFS[name]
    solver, path = tool("yosys-smtbmc"), f"{Path(tool('z3')).parent}{os.pathsep}{os.environ['PATH']}"
    model = model_of(proof)
    runs = [["-t", str(proof.depth)], ["-c", "-t", str(proof.cover or proof.depth)]]
    if proof.induction:
        runs.append(["-i", "-t", str(proof.induction)])
    for how in runs:
        command = [solver, "-s", "z3", *how, str(model)]
        done = subprocess.run(command, capture_output=True, env=os.environ | {"PATH": path}, text=True, check=False)
        assert "Status: PASSED" in done.stdout, done.stdout[-3000:]
