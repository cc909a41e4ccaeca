# SPDX-License-Identifier: Apache-2.0
"""The card's top module in simulation: frames of a MAC in, records in host memory out, registers over AXI4-Lite."""

from simulation import RTL, passes, sources_of

SOURCES = [
    *sources_of("registers", "common", "receive", "data", "memory"),
    RTL / "nanet_io.sv",
    RTL / "tests/nanet_io_tb.sv",
]


def test_nanet_io() -> None:
    passes("nanet_io", SOURCES, "nanet_io_tb")
