# SPDX-License-Identifier: Apache-2.0
"""The register file on its bus: each register as registers.yaml has it, with stalls at random."""

import os
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import cocotb
import yaml
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

CARD = yaml.safe_load((Path(__file__).parent.parent / "registers/registers.yaml").read_text())
SEED = int(os.environ.get("ANELLO_SEED", "1"))
WORD = 0xFFFFFFFF


def each(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """NAME_0 and so on for a register with `each`."""
    for one in block["registers"]:
        yield from [{**one, "name": f"{one['name']}_{i}"} for i in range(one["each"])] if "each" in one else [one]


def registers() -> Iterator[tuple[dict[str, Any], dict[str, Any], int, int]]:
    """(block, register, index, address)"""
    for block in CARD["blocks"]:
        for index in range(block.get("n", 1)):
            for place, register in enumerate(each(block)):
                yield block, register, index, block["base"] + index * block.get("stride", 0) + 4 * place


def pauses(dice: random.Random) -> Iterator[bool]:
    return (dice.random() < 0.4 for _ in count())


class Bench:
    def __init__(self, dut: Any, *, stall: bool = True) -> None:
        print(f"seed {SEED}")
        self.dut, self.dice = dut, random.Random(SEED)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s"), dut.clk, dut.rst)
        if stall:
            for side in (self.bus.write_if, self.bus.read_if):
                for channel in ("aw_channel", "w_channel", "b_channel", "ar_channel", "r_channel"):
                    if hasattr(side, channel):
                        getattr(side, channel).set_pause_generator(pauses(self.dice))

    async def start(self) -> None:
        Clock(self.dut.clk, 6400, "ps").start()
        for name in (
            "count_pulse",
            "clock_now",
            "ring_head",
            "control_interrupt_status",
            "control_idle",
            "page_missing",
            "identity_n_boards",
            "merger_silent",
            "merger_ended",
            "merger_fragments",
            "merger_hits",
        ):
            getattr(self.dut, name).value = 0
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 5)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 140)  # the counts are cleared

    async def read(self, address: int) -> int:
        answer = await self.bus.read(address, 4)
        assert answer.resp == AxiResp.OKAY, f"{address:#06x}"
        return int.from_bytes(answer.data, "little")

    async def write(self, address: int, value: int) -> None:
        answer = await self.bus.write(address, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"{address:#06x}"


@cocotb.test()
async def each_register_is_what_the_page_says(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    dut.clock_now.value, dut.ring_head.value = 0x12345678, 77
    kept: dict[int, int] = {}
    order = [one for one in registers() if one[1]["access"] == "rw"]
    bench.dice.shuffle(order)
    for block, register, _, address in order:
        kept[address] = bench.dice.getrandbits(register["width"] if not block.get("table") else 32)
        await bench.write(address, kept[address])
    for block, register, _, address in registers():
        found = await bench.read(address) if register["access"] != "pulse" else None
        name = f"{block['name']}.{register['name']} at {address:#06x}"
        if register["access"] == "constant":
            assert found == register["reset"], name
        if register["access"] == "rw":
            assert found == kept[address], name
        if register["access"] == "count":
            assert found == 0, name
    assert await bench.read(0x0180) == 0x12345678
    assert await bench.read(0x01CC) == 77


@cocotb.test()
async def what_is_written_reaches_its_port(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for block, register, index, address in registers():
        if register["access"] != "rw" or block.get("table"):
            continue
        value = bench.dice.getrandbits(register["width"])
        await bench.write(address, value)
        await ClockCycles(dut.clk, 3)
        port = int(getattr(dut, f"{block['name']}_{register['name']}").value)
        assert port >> (index * register["width"]) & ((1 << register["width"]) - 1) == value, register["name"]


@cocotb.test()
async def writes_to_tables_are_passed_on_once(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    passed: list[tuple[str, int, int, int]] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            for table in ("list", "tlb"):
                if int(getattr(dut, f"{table}_write").value):
                    passed.append(
                        (table, *(int(getattr(dut, f"{table}_{part}").value) for part in ("index", "register", "data")))
                    )

    cocotb.start_soon(watch())
    wanted = []
    for block, _, index, address in registers():
        if block.get("table"):
            value = bench.dice.getrandbits(32)
            await bench.write(address, value)
            wanted.append((block["name"], index, (address - block["base"]) % block["stride"] // 4, value))
    await ClockCycles(dut.clk, 5)
    assert passed == wanted


@cocotb.test()
async def a_pulse_is_one_cycle(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    n = 0

    async def watch() -> None:
        nonlocal n
        while True:
            await RisingEdge(dut.clk)
            n += int(dut.control_flush.value)

    cocotb.start_soon(watch())
    for wanted in (1, 2, 3):
        await bench.write(0x0050, 1)
        await ClockCycles(dut.clk, 5)
        assert n == wanted
    await bench.write(0x0050, 0)
    await ClockCycles(dut.clk, 5)
    assert n == 3


@cocotb.test()
async def no_pulse_is_left_out(dut: Any) -> None:
    """Any of them at once, in each cycle, while the counts are read and after a reset."""
    bench = Bench(dut, stall=False)
    await bench.start()
    names = [register["name"] for block, register, _, _ in registers() if block["name"] == "count"]
    base = next(block["base"] for block in CARD["blocks"] if block["name"] == "count")
    wanted = [0] * len(names)

    async def pulse(n_cycles: int) -> None:
        for _ in range(n_cycles):
            bits = bench.dice.choice([0, (1 << len(names)) - 1, bench.dice.getrandbits(len(names))])
            dut.count_pulse.value = bits
            for place in range(len(names)):
                wanted[place] += bits >> place & 1
            await RisingEdge(dut.clk)
        dut.count_pulse.value = 0

    pulsing = cocotb.start_soon(pulse(2000))
    last = [0] * len(names)
    for _ in range(40):
        place = bench.dice.randrange(len(names))
        now = await bench.read(base + 4 * place)
        assert last[place] <= now <= wanted[place]
        last[place] = now
    await pulsing
    await ClockCycles(dut.clk, 2 * len(names))
    assert [await bench.read(base + 4 * place) for place in range(len(names))] == wanted
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    wanted = [0] * len(names)
    await pulse(50)  # while the counts are being cleared
    await ClockCycles(dut.clk, 2 * len(names))
    assert [await bench.read(base + 4 * place) for place in range(len(names))] == wanted


@cocotb.test()
async def what_is_no_register_is_refused_and_changes_nothing(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    there = {address for *_, address in registers()}
    writable = {address for _, register, _, address in registers() if register["access"] in ("rw", "pulse")}
    readable = {address for _, register, _, address in registers() if register["access"] != "pulse"}
    await bench.write(0x0014, 0xC0FFEE)
    others = bench.dice.sample(sorted(set(range(0, 1 << 13, 4)) - there), 150)
    for address in [*others, *(there - writable)]:
        assert (await bench.bus.write(address, b"\1\2\3\4")).resp == AxiResp.SLVERR, f"{address:#06x}"
    for address in [*others, *(there - readable)]:
        assert (await bench.bus.read(address, 4)).resp == AxiResp.SLVERR, f"{address:#06x}"
    for n_bytes in (1, 2, 3):
        assert (await bench.bus.write(0x0014, bytes(n_bytes))).resp == AxiResp.SLVERR
    assert await bench.read(0x0014) == 0xC0FFEE
