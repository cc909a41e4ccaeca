# SPDX-License-Identifier: Apache-2.0
"""The receive path in simulation."""

from simulation import RTL, passes, sources_of

FILES = [*(RTL / "common" / f"{name}.sv" for name in ("axis_fifo", "axis_skid", "byte_count", "ones_sum")),
         *sources_of("receive")]  # fmt: skip


def test_receive_path() -> None:
    passes("receive", [*FILES, RTL / "tests/receive_tb.sv"], "receive_tb")
