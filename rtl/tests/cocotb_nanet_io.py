# SPDX-License-Identifier: Apache-2.0
"""The whole card: frames in, records in a model of host memory out; each frame is a record or in exactly one counter."""

from __future__ import annotations

import os
import random

import cocotb
import frames as f
from cocotb.triggers import ClockCycles, RisingEdge
from memory_bench import on
from memory_model import FULL, GATHERED, MAX_RECORDS, List
from nanet_io_bench import Bench

SEED = int(os.environ.get("ANELLO_RTL_SEED", "20260201"))
BASE = 0x1234_5678_0000
BOTH = cocotb.parametrize(cut_through=(False, True))
LONGEST = 9000 - 42  # payload of a frame of 9000 bytes
SIZES = (18, 19, 22, 23, 64, 100, 511, 1024, 1472, 4000, LONGEST)


def datagram(b: Bench, stream: int, n_bytes: int, **how) -> bytes:
    return f.udp_frame(b.rng.randbytes(n_bytes), dst_port=f.PORTS[stream], src_port=b.rng.randrange(65536), **how)


def wrong(rng: random.Random) -> list[bytes | tuple[bytes, bool]]:
    """Frames that must not give a record; in cut-through the last five, whose faults come late, give marked ones."""
    body = rng.randbytes(rng.choice((50, 700)))
    return [
        f.udp_frame(body, dst=f.OWN_MAC ^ 1),
        f.arp_request(),
        f.arp_request(f.OWN_IP ^ 1),
        f.ethernet(body, 0x86DD),
        f.ethernet(f.ipv4(f.udp(body), checksum_xor=1)),
        f.ethernet(f.ipv4(f.udp(body), flags=0x2000)),
        f.echo_request(body[:100]),
        f.ethernet(f.ipv4(body, protocol=6)),
        f.udp_frame(body, dst_port=50003),
        f.udp_frame(body)[:30],
        f.ethernet(f.ipv4(f.udp(body, length=7))),
        (f.udp_frame(body), True),
        f.ethernet(f.ipv4(f.udp(body, checksum_xor=0x0100))),
        f.udp_frame(body)[:-1],
        f.udp_frame(body)[:60],
        f.udp_frame(body)[:48],
    ]


async def open_all(b: Bench, buffer_bytes: int, n_buffers: int, **how) -> None:
    """Opens a list for each stream; all lists and the ring need fewer pages than the card's table has."""
    for i, stream in enumerate(f.PORTS):
        await b.open_list(stream, List(BASE + i * buffer_bytes * n_buffers, buffer_bytes, n_buffers, **how))


@cocotb.test()
@BOTH
async def streams_and_sizes(dut, cut_through: bool) -> None:
    """Five streams, 18 to 9000 bytes back to back: each datagram is a record, none is lost."""
    b = Bench(dut, SEED)
    await b.start(cut_through=cut_through)
    await open_all(b, 16384, 8)
    frames = [datagram(b, stream, n) for stream in f.PORTS for n in SIZES] + [f.udp_frame(b"")]
    frames += [datagram(b, b.rng.choice(list(f.PORTS)), 18) for _ in range(60)]
    b.rng.shuffle(frames)
    b.frames += frames
    await b.settle()
    assert b.counts["written"] == b.expected["accepted"] == len(frames), (b.counts, b.expected)


@cocotb.test()
@BOTH
async def wrong_frames(dut, cut_through: bool) -> None:
    b = Bench(dut, SEED + 1)
    await b.start(cut_through=cut_through)
    await open_all(b, 16384, 4, max_records=9)
    frames = [frame for _ in range(3) for frame in wrong(b.rng)] + [datagram(b, 1, 300) for _ in range(30)]
    b.rng.shuffle(frames)
    b.frames += frames
    b.between = lambda: b.rng.choice((0, 20))
    await b.settle()
    assert all(b.expected[name] for name in f.COUNTS[:15] if name != "overflow"), b.expected
    assert b.expected["overflow"] == 0
    n_marked = sum(g.n_bad for a in b.model.lists.values() for g in a.given)
    assert n_marked == (15 if cut_through else 0), n_marked


@cocotb.test()
@BOTH
async def slow_memory(dut, cut_through: bool) -> None:
    """The bus takes fewer data than the network brings: frames without room are counted, all others are whole."""
    b = Bench(dut, SEED + 2)
    await b.start(cut_through=cut_through, stall=0.6)
    await open_all(b, 16384, 8)
    b.frames += [datagram(b, b.rng.choice(list(f.PORTS)), b.rng.choice(SIZES)) for _ in range(80)]
    await b.settle()
    assert b.expected["overflow"] > 3 and b.counts["written"] > 20, (b.expected, b.counts)


@cocotb.test()
async def no_buffers(dut) -> None:
    """While the host gives no buffer back, full lists drop and others continue; when it does, all continue."""
    b = Bench(dut, SEED + 3)
    b.credit_late = lambda: True
    await b.start()
    await b.open_list(0, List(BASE, 4096, 2, max_records=3))
    await b.open_list(1, List(BASE + 0x10000, 4096, 2, max_records=3, overwrite=True))
    await b.open_list(7, List(BASE + 0x20000, 16384, 6))
    for _ in range(10):
        b.frames += [datagram(b, 0, 40), datagram(b, 1, 50), datagram(b, 7, 1000), datagram(b, 15, 60)]
    b.frames += [datagram(b, 0, 5000), datagram(b, 7, 5000)]
    await b.drain()
    assert b.counts["written"] == 6 + 10 + 11, b.counts
    assert b.counts["dropped"] == 4 + 10 and b.counts["too_long"] == 1, b.counts
    assert b.counts["overwritten"] == 2 and b.expected["overflow"] == 0, b.counts
    b.credit_late = lambda: False
    await ClockCycles(dut.clk, 200)
    b.frames += [datagram(b, 0, 70) for _ in range(6)]
    await b.settle()
    assert b.counts["written"] == 33 and b.counts["dropped"] == 14, b.counts
    assert b.reasons[MAX_RECORDS] == 2 + 3 + 2, b.reasons


@cocotb.test()
async def not_enabled(dut) -> None:
    """Frames are received whole or not at all, at whatever time the host switches the card on or off."""
    b = Bench(dut, SEED + 4)
    await b.start()
    await open_all(b, 8192, 4)
    await b.set("control.enable", 0)
    b.frames += [datagram(b, 0, 100), f.arp_request(), (datagram(b, 0, 30), True)]
    await b.quiet()
    assert not b.counts["written"]
    b.frames += [datagram(b, b.rng.choice((0, 2)), b.rng.choice((18, 200, 900))) for _ in range(60)]
    value = 0
    while b.frames:
        value = 1 - value
        await b.set("control.enable", value)
        await ClockCycles(dut.clk, b.rng.randrange(300))
    await b.set("control.enable", 0)
    await b.settle()
    assert b.n_ignored > 10 and b.counts["written"] > 10, (b.n_ignored, b.counts)


@cocotb.test()
async def missing_page(dut) -> None:
    """The card reports the page that it waits for, by interrupt if that is enabled; no frame is lost in this time."""
    b = Bench(dut, SEED + 5)
    b.fills_pages = False
    await b.start()
    await b.set("control.interrupt_enable", 1)
    await b.open_list(0, List(BASE, 4096, 4, gathering=0))
    b.frames += [datagram(b, 0, n) for n in (18, 500, 1000)]
    await ClockCycles(dut.clk, 800)
    assert not on(dut, "irq")
    assert await b.read("control.interrupt_status") == 2
    assert await b.read("page.missing") == BASE >> 16
    assert await b.read("control.idle") == 0
    await b.set("control.interrupt_enable", 3)
    await ClockCycles(dut.clk, 5)
    assert on(dut, "irq")
    b.fills_pages = True
    await b.settle()
    assert b.counts["written"] == 3 and b.reasons == {GATHERED: 3} and not on(dut, "irq"), (b.counts, b.reasons)


@cocotb.test()
async def failed_writes(dut) -> None:
    """The bus answers with errors: counted, and each completion says so."""
    b = Bench(dut, SEED + 6)
    b.has_failed = True
    await b.start()
    dut.fail_writes.value = 1
    await b.open_list(0, List(BASE, 4096, 3))
    b.frames += [datagram(b, 0, 1000) for _ in range(10)]
    await b.settle()
    assert b.reasons[FULL] >= 3 and b.counts["write_failed"] > 20, (b.reasons, b.counts)


@cocotb.test()
async def latency(dut) -> None:
    """The latency is that of the modules' header comments."""
    b = Bench(dut, SEED + 7)
    await b.start(cut_through=True)
    await b.open_list(0, List(BASE, 4096, 8, gathering=0))
    b.frames.append(datagram(b, 0, 500))  # pages are filled
    await b.settle()
    b.frames.append(datagram(b, 0, 500))
    seen: dict[str, int] = {}
    for cycle in range(400):
        await RisingEdge(dut.clk)
        for name in ("rx_tvalid", "payload_tvalid", "m_axi_wvalid", "m_axi_awvalid"):
            if on(dut, name):
                seen.setdefault(name, cycle)
    cocotb.log.info("LATENCY %s", {name: cycle - seen["rx_tvalid"] for name, cycle in seen.items()})
    assert seen["payload_tvalid"] - seen["rx_tvalid"] <= 9, seen
    assert seen["m_axi_awvalid"] - seen["rx_tvalid"] <= 24, seen
    assert seen["m_axi_wvalid"] - seen["rx_tvalid"] <= 26, seen
    await b.settle()


@cocotb.test()
@cocotb.parametrize(turn=range(int(os.environ.get("ANELLO_RTL_TURNS", "2"))))
async def anything(dut, turn: int) -> None:
    """All at random: sizes, streams, faults, gaps, stalls, credits, policies; the seed is in the log."""
    b = Bench(dut, SEED + 100 + turn)
    r = b.rng
    b.between = lambda: r.choice((0, 0, 3, r.randrange(400)))
    b.credit_late = lambda: r.random() < 0.995
    await b.start(cut_through=bool(turn % 2), promiscuous=turn % 4 > 1, stall=r.choice((0.1, 0.4)))
    for i, stream in enumerate((0, 1, 2, 7)):  # 15 has no list
        n, size = r.randint(2, 6), 4096 * r.randint(1, 3)
        await b.open_list(stream, List(BASE + i * 0x20000 + 4096 * r.randrange(8), size, n, r.choice((0, 1, 5)),
                                       r.choice((0, 300, 2000, 0xFFFFFF))))  # fmt: skip
    frames = [datagram(b, r.choice(list(f.PORTS)), r.choice((*SIZES, r.randrange(1500))),
                       vlan=r.choice((None, 7)), options=bytes(4 * r.randrange(3))) for _ in range(150)]  # fmt: skip
    frames += [frame for _ in range(3) for frame in wrong(r)]
    r.shuffle(frames)
    b.frames += frames
    await b.settle()
    cocotb.log.info("%s %s %s", dict(b.counts), dict(b.reasons), dict(b.expected))
    assert b.counts["written"] > 30 and b.counts["dropped"] and b.counts["too_long"], b.counts
