# SPDX-License-Identifier: Apache-2.0
"""What the cocotb tests of rtl/data share: the payload stream's driver and a watcher of one output stream."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge


async def begin(dut, **config: int) -> None:
    cocotb.start_soon(Clock(dut.clk, 6, "ns").start())
    dut.s_tvalid.value = 0
    dut.s_tuser.value = 0
    for name, value in config.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def send(
    dut,
    data: bytes,
    dice: random.Random,
    gaps: float = 0.0,
    stream: int = 0,
    bad: bool = False,
    length: int | None = None,
    stamp: int = 0,
) -> None:
    """One datagram; `length` as the UDP header would say it; `stamp`: the cycle of its arrival."""
    beats = max(1, (len(data) + 7) // 8)
    for at in range(beats):
        part = data[8 * at : 8 * at + 8]
        while dice.random() < gaps:
            dut.s_tvalid.value = 0
            await RisingEdge(dut.clk)
        # What fills the last beat is not zero on a real line either.
        dut.s_tdata.value = int.from_bytes(part + dice.randbytes(8 - len(part)), "little")
        dut.s_tkeep.value = (1 << len(part)) - 1
        dut.s_tlast.value = int(at == beats - 1)
        dut.s_tuser.value = int(bad and at == beats - 1)
        dut.s_stream.value = stream
        dut.s_length.value = len(data) if length is None else length
        dut.s_stamp.value = stamp
        dut.s_tvalid.value = 1
        while True:
            await ReadOnly()
            taken = bool(dut.s_tready.value)
            await RisingEdge(dut.clk)
            if taken:
                break
    dut.s_tvalid.value = 0


async def watch(
    dut, prefix: str, fields: list[str], seen: list[dict[str, int]], dice: random.Random, stalls: float
) -> None:
    """Takes beats of a stream with random stalls; what is offered must not change until it is taken."""
    valid, ready = getattr(dut, prefix + "valid"), getattr(dut, prefix + "ready")
    offered: dict[str, int] | None = None
    while True:
        ready.value = int(dice.random() >= stalls)
        await ReadOnly()
        beat = {name: int(getattr(dut, prefix + name).value) for name in fields} if valid.value else None
        if offered is not None:
            assert beat == offered, f"{prefix}: {offered} became {beat} before it was taken"
        taken = beat is not None and bool(ready.value)
        if taken:
            seen.append(beat)
        offered = None if taken else beat
        await RisingEdge(dut.clk)
