# SPDX-License-Identifier: Apache-2.0
"""The memory path against its model (memory_model.py), with a cocotbext-axi RAM at its output."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from memory_bench import RING, Bench, on
from memory_model import END_OF_BURST, FLUSHED, FULL, GATHERED, MAX_RECORDS, List, Record

SEED = int(os.environ.get("ANELLO_RTL_SEED", "20260101"))
A, B = 0x1234_5678_0000, 0x0000_4321_F000


def records(rng: random.Random, n: int, stream: int, lengths: range, **other) -> list[Record]:
    return [Record(stream, rng.randbytes(rng.choice(lengths)), **other) for _ in range(n)]


@cocotb.test()
async def wraps_and_is_full(dut) -> None:
    """A list of three buffers, many records: content, FULL, wrap with credits; every length from 0 to 200."""
    b = Bench(dut, SEED)
    await b.start()
    await b.open_list(2, List(B, 4096, 3))
    b.records += [Record(2, b.rng.randbytes(n)) for n in range(200)]
    b.records += records(b.rng, 3, 2, range(4064, 4065))  # exactly one buffer each
    b.records += records(b.rng, 2, 2, range(4065, 4066))  # too long
    b.records.append(Record(2, b"left open"))
    await ClockCycles(dut.clk, 8000)
    await b.flush()
    await ClockCycles(dut.clk, 200)
    await b.drain()
    assert b.reasons[FULL] >= 6 and b.reasons[FLUSHED] == 1 and b.counts["too_long"] == 2, b.reasons


@cocotb.test()
async def every_reason(dut) -> None:
    b = Bench(dut, SEED + 1)
    await b.start()
    await b.open_list(0, List(A, 8192, 4, max_records=3))
    await b.open_list(1, List(A + 0x100000, 8192, 4, gathering=900))
    await b.open_list(16, List(A + 0x200000, 65536, 2))
    await b.open_list(5, List(A + 0x300000, 4096, 4, gathering=0))
    b.records += records(b.rng, 7, 0, range(1, 300)) + records(b.rng, 2, 1, range(1, 300))
    b.records += [*records(b.rng, 4, 16, range(1, 3000), bad=True), Record(16, b"end", end_of_burst=True)]
    b.records += records(b.rng, 3, 5, range(1, 300))
    await ClockCycles(dut.clk, 3500)
    await b.flush()
    await ClockCycles(dut.clk, 200)
    await b.drain()
    assert b.reasons == {MAX_RECORDS: 2, GATHERED: 4, END_OF_BURST: 1, FLUSHED: 1}, b.reasons


@cocotb.test()
async def full_list_drops(dut) -> None:
    """No credit: two buffers are written, then records are dropped; a credit opens exactly one buffer more."""
    b = Bench(dut, SEED + 2)
    b.credit_late = lambda: True
    await b.start()
    await b.open_list(3, List(A, 4096, 2, max_records=2))
    b.records += records(b.rng, 7, 3, range(1, 100))
    await b.drain()
    assert b.counts["written"] == 4 and b.counts["dropped"] == 3, b.counts
    await b.give_back(3)
    b.owed.pop()
    await ClockCycles(dut.clk, 4)
    b.records += [*records(b.rng, 5, 3, range(1, 100)), Record(3, b"", end_of_burst=True)]
    b.records += records(b.rng, 2, 9, range(1, 100))  # a list that nobody opened
    await b.drain()
    assert b.counts["written"] == 6 and b.counts["dropped"] == 3 + 4 + 2, b.counts


@cocotb.test()
async def full_list_overwrites(dut) -> None:
    b = Bench(dut, SEED + 3)
    b.credit_late = lambda: True
    await b.start()
    await b.open_list(4, List(A, 4096, 2, max_records=2, overwrite=True))
    b.records += records(b.rng, 10, 4, range(1, 100))
    await b.drain()
    assert b.counts["written"] == 10 and b.counts["overwritten"] == 3 and b.counts["dropped"] == 0, b.counts
    await b.give_back(4, 3)  # the host has reported five buffers, two more than the list has: only one is free
    b.owed.clear()
    await ClockCycles(dut.clk, 4)
    b.records += records(b.rng, 3, 4, range(1, 100), end_of_burst=True)
    b.credit_late = lambda: True
    await b.drain()


@cocotb.test()
async def missing_page(dut) -> None:
    """A missing page stops all writes; once the host gives it, they continue. There are more pages than entries."""
    b = Bench(dut, SEED + 4)
    b.fills_pages = False
    await b.start()
    await b.open_list(0, List(A, 65536, 20))
    b.records += records(b.rng, 3, 0, range(500, 600), end_of_burst=True)
    await ClockCycles(dut.clk, 600)
    assert on(dut, "irq_missing")
    assert int(dut.missing_page.value) == A >> 16
    assert b.n_taken == 0
    assert b.counts["tlb_miss"] == 1 and b.counts["tlb_stall"] > 500 and not b.bursts, b.counts
    b.fills_pages = True
    await b.drain()
    b.records += records(b.rng, 40, 0, range(20, 60), end_of_burst=True)
    await b.drain()
    assert b.counts["tlb_miss"] >= 21 and not on(dut, "irq_missing"), b.counts


@cocotb.test()
async def full_ring(dut) -> None:
    """The host does not read: the ring fills, then all records wait and the waits are counted; no record is lost."""
    b = Bench(dut, SEED + 5)
    b.ring_log2, b.host_reads = 2, False
    await b.start()
    await b.open_list(7, List(A, 4096, 64, max_records=1))
    b.records += records(b.rng, 60, 7, range(1, 40))
    await ClockCycles(dut.clk, 2500)
    assert int(dut.ring_head.value) == 4 and b.counts["ring_full"] > 1000 and b.records, b.counts
    assert on(dut, "irq_completion")
    b.host_reads = True
    await b.drain()
    assert b.n_taken == 60
    assert b.reasons == {MAX_RECORDS: 60}


@cocotb.test()
async def lengths_that_lie(dut) -> None:
    """Streams are shorter or longer than the sideband says: the write stays in its place, and a flag is set."""
    b = Bench(dut, SEED + 6)
    await b.start()
    await b.open_list(0, List(A, 4096, 8))
    for _ in range(60):
        payload = b.rng.randbytes(b.rng.randint(1, 120))
        b.records.append(Record(0, payload, length=max(1, len(payload) + b.rng.choice((0, 8, 16, 64, -8, -24)))))
    b.records.append(Record(0, b"x", end_of_burst=True))
    await b.drain()


@cocotb.test()
async def answers_come_late(dut) -> None:
    """B stalls most of the time: completions wait for their data."""
    b = Bench(dut, SEED + 7)
    await b.start(answer_stall=0.93)
    for i in range(4):
        await b.open_list(i, List(A + i * 0x100000, 4096, 6, max_records=4))
    for _ in range(80):
        b.records += records(b.rng, 1, b.rng.randrange(4), range(1, 700), end_of_burst=b.rng.random() < 0.1)
    await ClockCycles(dut.clk, 200)
    await settle(b)


@cocotb.test()
async def anything(dut) -> None:
    """All at random: stalls on every port, gaps, streams, lengths, credits, policies, pages."""
    for turn in range(int(os.environ.get("ANELLO_RTL_TURNS", "1"))):
        b = Bench(dut, SEED + 100 + turn)
        r = b.rng
        b.gap = lambda r=r: r.choice((0, 0, 0, 0, 1, 9))
        b.credit_late = lambda r=r: r.random() < 0.999
        await b.start(stall=0.3)
        for i in range(17):
            if i != 11:
                n, size = r.randint(2, 8), 4096 * r.randint(1, 3)
                gathering = r.choice((0, 300, 2000, 0xFFFFFF))
                await b.open_list(i, List(A + i * 0x40000 + 4096 * r.randrange(16), size, n, r.choice((0, 1, 5)),
                                          gathering, overwrite=r.random() < 0.4))  # fmt: skip
        for _ in range(500):
            n = r.choice((0, 1, 18, r.randrange(64), r.randrange(1500), 9000))
            b.records.append(Record(r.randrange(17), r.randbytes(n), bad=r.random() < 0.1,
                                    end_of_burst=r.random() < 0.05))  # fmt: skip
        await settle(b)
        assert b.counts["written"] > 200 and b.counts["too_long"] > 0 and len(b.reasons) == 5, (b.counts, b.reasons)
        cocotb.log.info("%s %s", dict(b.counts), dict(b.reasons))


@cocotb.test()
async def speed(dut) -> None:
    """18-byte payloads: at most 10 cycles each; a large datagram: a word a cycle."""
    b = Bench(dut, SEED + 8)
    await b.start()
    await b.open_list(0, List(A, 65536, 4))
    await b.open_list(1, List(A + 0x100000, 65536, 4))
    await b.open_list(2, List(A + 0x200000, 65536, 4, max_records=1))
    for index in range(3):
        b.records += records(b.rng, 3, index, range(18, 19))
    await settle(b)
    for streams, length, n in (((0,), 18, 200), ((0, 1), 18, 200), ((2,), 18, 3), ((0,), 8952, 20)):
        b.starts.clear()
        b.records += [Record(streams[i % len(streams)], b.rng.randbytes(length)) for i in range(n)]
        while len(b.starts) < n:
            await RisingEdge(dut.clk)
        cycles = (b.starts[-1] - b.starts[0]) % (1 << 32) / (n - 1)
        cocotb.log.info("SPEED %d lists, %d bytes: %.2f cycles a record, %.2f of the words", len(streams), length,
                        cycles, (length + 7) // 8 / cycles)  # fmt: skip
        assert length > 18 or streams == (2,) or cycles <= 10, cycles
        assert length == 18 or (length + 7) // 8 / cycles > 0.98, cycles
        await settle(b)


async def settle(b: Bench) -> None:
    """Waits until all records are sent, then flushes until no buffer is open."""
    while b.records or b.places or b.flying:
        await RisingEdge(b.dut.clk)
    await ClockCycles(b.dut.clk, 30)
    await b.flush()
    await ClockCycles(b.dut.clk, 700)
    await b.drain()
    assert not any(a.is_open for a in b.model.lists.values())
    assert RING >> 16 in b.pages
