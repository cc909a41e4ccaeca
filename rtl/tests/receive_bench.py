# SPDX-License-Identifier: Apache-2.0
"""Drives receive_tb cycle by cycle: frames in, payloads and replies out, each with the cycles of its beats."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import frames as f
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge


def always(_cycle: int) -> bool:
    return True


@dataclass
class Sent:
    first: int = 0
    last: int = 0
    n_beats: int = 0


@dataclass
class Payload:
    data: bytes
    bad: bool
    side: tuple[int, int, int, int]
    stamp: int
    first: int
    last: int


@dataclass
class Record:
    sent: list[Sent] = field(default_factory=list)
    payloads: list[Payload] = field(default_factory=list)
    replies: list[tuple[bytes, int, int, int]] = field(default_factory=list)  # frame, first and last cycle, beats
    counts: Counter[str] = field(default_factory=Counter)


class Stream:
    """Joins the beats of an AXI-Stream and checks its rules: stable while stalled, no holes."""

    def __init__(self, n_side: int) -> None:
        self.n_side, self.held, self.parts, self.first, self.side = n_side, None, b"", 0, None

    def beat(self, cycle: int, word: int, ready: bool, keep_at: int) -> tuple[bytes, int] | None:
        assert self.held is None or self.held == word, "changed while stalled"
        self.held = None if ready else word
        if not ready:
            return None
        keep, last = word >> keep_at & 0xFF, word >> (keep_at - 1) & 1
        side = word & ((1 << self.n_side) - 1)
        n_bytes = keep.bit_count()
        assert keep == (1 << n_bytes) - 1, f"hole in tkeep {keep:08b}"
        assert last or n_bytes == 8, f"hole in tkeep {keep:08b}"
        if self.side is None:
            self.first, self.side = cycle, side
        assert side == self.side, "sideband changed within a frame"
        self.parts += (word >> (keep_at + 8)).to_bytes(8, "little")[:n_bytes]
        if not last:
            return None
        whole, self.parts, self.side = (self.parts, side), b"", None
        return whole


class Bench:
    def __init__(self, dut, seed: int = 1) -> None:
        self.dut, self.random = dut, random.Random(seed)

    async def start(self, cut_through: bool, promiscuous: bool = False) -> None:
        dut = self.dut
        Clock(dut.clk, 6400, "ps").start()
        dut.rst.value = 1
        for signal in (dut.s_tvalid, dut.s_tlast, dut.s_tuser, dut.s_tdata, dut.s_tkeep, dut.m_tready, dut.tx_tready):
            signal.value = 0
        dut.own_mac.value, dut.own_ip.value = f.OWN_MAC, f.OWN_IP
        dut.promiscuous.value, dut.cut_through.value = int(promiscuous), int(cut_through)
        dut.entry_valid.value = sum(1 << stream for stream in f.PORTS)
        dut.entry_port.value = sum(port << 16 * stream for stream, port in f.PORTS.items())
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0

    def beats(self, frame: bytes, bad_fcs: bool) -> list[tuple[int, int, int, int]]:
        beats = []
        for at in range(0, len(frame), 8):
            part = frame[at : at + 8]
            last = at + 8 >= len(frame)
            # Bytes outside of the frame are noise, as on a real bus.
            word = int.from_bytes(part + self.random.randbytes(8 - len(part)), "little")
            beats.append((word, (1 << len(part)) - 1, int(last), int(bad_fcs and last)))
        return beats

    async def play(
        self,
        frames: list[bytes | tuple[bytes, bool]],
        gap: float = 0.0,
        ready: Callable[[int], bool] = always,
        tx_ready: Callable[[int], bool] = always,
        between: int = 0,
        quiet: int = 40,
    ) -> Record:
        """Sends frames; gap is the share of empty cycles, between those after each frame; ends when all is quiet."""
        dut, record = self.dut, Record()
        payload, reply = Stream(100), Stream(0)
        queue = []
        for item in frames:
            frame, bad_fcs = item if isinstance(item, tuple) else (item, False)
            queue += [(beat, i == 0) for i, beat in enumerate(self.beats(frame, bad_fcs))] + [None] * between
        position, cycle, silent = 0, 0, 0
        tx_beats = 0
        start = None
        while silent < quiet or position < len(queue):
            beat = None
            if position < len(queue) and not (gap and self.random.random() < gap):
                beat = queue[position]
                position += 1
            dut.s_tvalid.value = int(beat is not None)
            if beat is not None:
                (word, keep, last, user), first = beat
                dut.s_tdata.value, dut.s_tkeep.value, dut.s_tlast.value, dut.s_tuser.value = word, keep, last, user
                if first:
                    record.sent.append(Sent(first=cycle))
                record.sent[-1].last, record.sent[-1].n_beats = cycle, record.sent[-1].n_beats + 1
            m_ready, t_ready = ready(cycle), tx_ready(cycle)
            dut.m_tready.value, dut.tx_tready.value = int(m_ready), int(t_ready)
            await RisingEdge(dut.clk)
            if start is None:
                start = int(dut.now.value)
            silent = 0 if beat is not None else silent + 1
            if dut.m_tvalid.value == 1:
                silent = 0
                word = int(dut.m_all.value)
                whole = payload.beat(cycle, word & ~(1 << 100), m_ready, 102)
                if whole:
                    side = whole[1]
                    record.payloads.append(
                        Payload(
                            whole[0],
                            bool(word >> 100 & 1),
                            (side >> 96 & 15, side >> 64 & 0xFFFFFFFF, side >> 48 & 0xFFFF, side >> 32 & 0xFFFF),
                            (side & 0xFFFFFFFF) - start,
                            payload.first,
                            cycle,
                        )
                    )
                else:
                    assert not m_ready or word >> 100 & 1 == 0, "bad without last"
            if dut.tx_tvalid.value == 1:
                silent = 0
                word = int(dut.tx_all.value)
                tx_beats += t_ready
                done = reply.beat(cycle, word, t_ready, 1)
                if done:
                    record.replies.append((done[0], reply.first, cycle, tx_beats))
                    tx_beats = 0
            cycle += 1
        dut.s_tvalid.value = 0
        assert payload.side is None, "a payload without an end"
        assert reply.side is None, "a reply without an end"
        return record

    def counts(self) -> Counter[str]:
        value = int(self.dut.counts.value)
        return Counter({name: n for i, name in enumerate(f.COUNTS) if (n := value >> 32 * i & 0xFFFFFFFF)})
