# SPDX-License-Identifier: Apache-2.0
"""Parts of the links in Verilator under cocotb. Skips, with the reason, where the tools are not installed."""

from simulation import RTL, passes, sources_of

AXIS = sorted((RTL / "common").glob("axis_*.sv"))


def test_links_against_the_model() -> None:
    passes("links", [*AXIS, *sources_of("links"), RTL / "tests/links_tb.sv"], "links_tb")
