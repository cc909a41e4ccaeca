# SPDX-License-Identifier: Apache-2.0
"""The memory path in Verilator, under cocotb. Skips, with the reason, without the tools."""

import os
import subprocess

import pytest
from simulation import RTL, passes, sources_of, use_verilator

SOURCES = [*sources_of("memory"), RTL / "tests/memory_tb.sv"]
QUICK = "wraps_and_is_full|full_list|full_ring|missing_page|answers_come_late"


def test_memory_path() -> None:
    """Not finished: its test with random values has no verdict yet, and is one of the long ones."""
    passes("memory", SOURCES, "memory_tb", only=None if "ANELLO_LONG" in os.environ else QUICK)


@pytest.mark.parametrize("top", ["memory_path", "corundum_dma"])
def test_lint(top: str) -> None:
    command = [use_verilator(), "--lint-only", "-Wall", "-Wno-UNUSEDSIGNAL", "--top-module", top, *sources_of("memory")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
