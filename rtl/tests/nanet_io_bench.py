# SPDX-License-Identifier: Apache-2.0
"""Drives nanet_io_tb as a network and a host do: frames into the MAC side, all else over AXI4-Lite, irq and host memory.

frames.py decides which frames must become records, and memory_model.py where each record must be. Only if the payload
buffer is full is the choice taken from the card: a frame without a record is known by the stamp of the next record, and
must be counted as an overflow.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import cocotb
import frames as f
import yaml
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from memory_bench import RING, on
from memory_bench import Bench as MemoryBench
from memory_model import Record

CARD = yaml.safe_load((Path(__file__).parent.parent / "registers/registers.yaml").read_text())
BLOCKS = {block["name"]: block for block in CARD["blocks"]}
VERDICTS = f.COUNTS[:13]
LATE = ("truncated", "bad_udp_checksum")  # verdicts known only after the place was decided
DECIDES = 10  # cycles from the look at a list's credits to the place


def address_of(name: str, index: int = 0) -> int:
    block_name, register = name.split(".")
    block = BLOCKS[block_name]
    place = next(i for i, one in enumerate(block["registers"]) if one["name"] == register)
    return block["base"] + index * block.get("stride", 0) + 4 * place


@dataclass
class Sent:
    """A frame of which at least one beat has been sent."""

    outcome: f.Outcome
    stamp: int = -1
    is_enabled: bool = True


@dataclass
class Frames:
    """Frames without an outcome yet, from which the memory bench takes the record that now has its place."""

    bench: Bench
    waiting: deque[Sent] = field(default_factory=deque)

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def popleft(self) -> Record:
        b, stamp = self.bench, int(self.bench.dut.s_stamp.value)
        while True:
            assert self.waiting, "a record without a frame"
            sent = self.waiting.popleft()
            if sent.stamp == stamp:
                break
            b.decide(sent, is_delivered=False)
        b.decide(sent, is_delivered=True)
        stream, src_ip, src_port, length = sent.outcome.side
        b.apply_credits(stream)
        return Record(stream, sent.outcome.payload, length, sent.outcome.verdict != "accepted", src_ip=src_ip,
                      src_port=src_port, stamp=stamp, parsed=b.came.popleft())  # fmt: skip


class Bench(MemoryBench):
    def __init__(self, dut, seed: int) -> None:
        super().__init__(dut, seed)
        self.places = Frames(self)
        self.frames: deque[bytes | tuple[bytes, bool]] = deque()  # to be sent, each with whether its FCS is wrong
        self.between: Callable[[], int] = lambda: 0  # empty cycles after a frame
        self.card = f.Card()
        self.cut_through = self.is_sending = False
        self.expected: Counter[str] = Counter()
        self.n_either = 0  # frames that are overflow or a late verdict
        self.n_ignored = self.n_delivered = self.n_cycles = self.n_quiet = 0
        self.coming: deque[Sent] = deque()
        self.at_frame_start = self.at_payload_start = True
        self.is_waiting = self.is_offered = False
        self.came: deque[int] = deque()  # when payloads without a place were first there
        self.offered = 0
        self.credits: list[tuple[int, int, int]] = []  # cycle, list, buffers
        self.replies: list[bytes] = []
        self.reply = b""
        self.expected_replies: list[bytes] = []

    async def start(self, *, cut_through: bool = False, promiscuous: bool = False, stall: float = 0.0,
                    answer_stall: float = 0.0) -> None:  # fmt: skip
        d = self.dut
        self.cut_through, self.card = cut_through, f.Card(promiscuous)
        for name in ("rx_tvalid", "rx_tlast", "rx_tuser", "rx_tdata", "rx_tkeep", "fail_writes"):
            getattr(d, name).value = 0
        d.tx_tready.value = 1
        logging.getLogger(f"cocotb.{d._name}").setLevel(logging.WARNING)  # each access to the bus is a line
        self.connect(stall, answer_stall)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(d, "s_axil"), d.clk, d.rst)
        await ClockCycles(d.clk, 4)
        d.rst.value = 0
        await ClockCycles(d.clk, 140)  # the counts are cleared
        assert await self.read("identity.magic") == 0x4F4E414E
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.send())
        cocotb.start_soon(self.host())
        self.map(RING, 1 << self.ring_log2 << 5)
        await self.set("ring.base_low", RING & 0xFFFFFFFF)
        await self.set("ring.base_high", RING >> 32)
        await self.set("ring.size_log2", self.ring_log2)
        await self.set("address.mac_low", f.OWN_MAC & 0xFFFFFFFF)
        await self.set("address.mac_high", f.OWN_MAC >> 32)
        await self.set("address.ip", f.OWN_IP)
        for stream, port in f.PORTS.items():
            await self.set("stream.port", 1 << 16 | port, stream)
        await self.set("control.promiscuous", int(promiscuous))
        await self.set("control.cut_through", int(cut_through))
        await self.set("control.interrupt_enable", 3)
        await self.set("control.enable", 1)

    # --- Registers
    async def set(self, name: str, value: int, index: int = 0) -> None:
        answer = await self.bus.write(address_of(name, index), value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, name

    async def read(self, name: str, index: int = 0) -> int:
        answer = await self.bus.read(address_of(name, index), 4)
        assert answer.resp == AxiResp.OKAY, name
        return int.from_bytes(answer.data, "little")

    async def write(self, which: str, index: int, register: int, data: int) -> None:
        await self.set(f"{which}.{BLOCKS[which]['registers'][register]['name']}", int(data), index)

    async def give_back(self, index: int, n: int = 1) -> None:
        await self.set("list.credit", n, index)

    async def flush(self) -> None:
        await self.set("control.flush", 1)

    # --- Network
    async def send(self) -> None:
        d = self.dut
        while True:
            while not self.frames:
                await RisingEdge(d.clk)
            item = self.frames.popleft()
            self.is_sending = True
            frame, bad_fcs = item if isinstance(item, tuple) else (item, False)
            self.coming.append(Sent(self.card.judge(frame, bad_fcs)))
            for at in range(0, len(frame), 8):
                part, last = frame[at : at + 8], at + 8 >= len(frame)
                d.rx_tdata.value = int.from_bytes(part + self.rng.randbytes(8 - len(part)), "little")
                d.rx_tkeep.value, d.rx_tvalid.value = (1 << len(part)) - 1, 1
                d.rx_tlast.value, d.rx_tuser.value = int(last), int(last and bad_fcs)
                await RisingEdge(d.clk)
            n_empty = self.between()
            if n_empty or not self.frames:
                d.rx_tvalid.value = 0
                self.is_sending = False
            for _ in range(n_empty):
                await RisingEdge(d.clk)

    def look(self) -> None:
        d = self.dut
        self.n_cycles += 1
        self.n_quiet += 1
        if on(d, "rx_tvalid"):
            self.n_quiet = 0
            if self.at_frame_start:
                sent = self.coming.popleft()
                sent.stamp, sent.is_enabled = self.cycle, on(d, "enable")
                self.places.waiting.append(sent)
            self.at_frame_start = on(d, "rx_tlast")
        if on(d, "tx_tvalid"):
            self.n_quiet = 0
            self.reply += int(d.tx_tdata.value).to_bytes(8, "little")[: int(d.tx_tkeep.value).bit_count()]
            if on(d, "tx_tlast"):
                self.replies.append(self.reply)
                self.reply = b""
        if on(d, "s_tvalid"):
            self.n_quiet = 0
        if on(d, "payload_tvalid"):
            self.n_quiet = 0
            if self.at_payload_start and not self.is_waiting:
                self.came.append(self.cycle)
            self.is_waiting = self.at_payload_start and not on(d, "payload_tready")
            if on(d, "payload_tready"):
                self.at_payload_start = on(d, "payload_tlast")
        if on(d, "seen_offer") and not self.is_offered:
            self.offered = self.n_cycles
        self.is_offered = on(d, "seen_offer")
        if on(d, "seen_credit"):
            self.credits.append((self.n_cycles, int(d.seen_credit_list.value), int(d.seen_credits.value)))

    def decide(self, sent: Sent, *, is_delivered: bool) -> None:
        outcome = sent.outcome
        if not sent.is_enabled:
            assert not is_delivered, "a frame came through a card that is not enabled"
            self.n_ignored += 1
            return
        verdict = outcome.verdict
        is_passed_on = verdict == "accepted" or (self.cut_through and outcome.admitted)
        assert is_passed_on or not is_delivered, f"a record of a frame that is {verdict}"
        if is_passed_on and not is_delivered and verdict != "bad_fcs":
            verdict = "overflow"
        if not self.cut_through and outcome.admitted and verdict in LATE:
            self.n_either += 1
        self.n_delivered += is_delivered
        self.expected[verdict] += 1
        if outcome.reply is not None:
            self.expected["arp_answered" if verdict == "arp" else "echo_answered"] += 1
            self.expected_replies.append(outcome.reply)

    def apply_credits(self, index: int) -> None:
        """Applies the credits that the card had when it decided; it may have seen one that came just then or not."""
        until = self.offered - DECIDES if on(self.dut, "seen_discard") else self.offered
        for credit in [c for c in self.credits if c[1] == index and c[0] <= until]:
            self.credits.remove(credit)
            if index in self.model.lists:
                self.model.lists[index].n_returned += credit[2]

    # --- Host
    async def host(self) -> None:
        d = self.dut
        while True:
            await RisingEdge(d.clk)
            while self.owed and not self.credit_late():
                await self.give_back(self.owed.pop(0))
            if not on(d, "irq"):
                continue
            causes = await self.read("control.interrupt_status")
            if causes & 2 and self.fills_pages:
                await self.fill(await self.read("page.missing"))
            if causes & 1 and self.host_reads:
                head = await self.read("ring.head")
                while self.n_taken != head:
                    self.read_completion()
                await self.set("ring.tail", self.n_taken)

    async def settle(self, limit: int = 60_000) -> None:
        """Waits until all frames are in memory and no buffer is open; then checks everything."""
        await self.quiet(limit)
        await self.flush()
        await ClockCycles(self.dut.clk, 700)  # the scan of open buffers
        await self.drain(limit)
        assert not any(a.is_open for a in self.model.lists.values())

    async def quiet(self, limit: int = 60_000) -> None:
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            if self.n_quiet > 40 and not (self.frames or self.is_sending or self.coming or self.flying):
                return
        raise AssertionError("frames never come to an end")

    async def drain(self, limit: int = 60_000) -> None:
        await self.quiet(limit)
        for _ in range(limit // 40):
            await ClockCycles(self.dut.clk, 20)
            all_taken = all(self.taken[i] == len(a.given) for i, a in self.model.lists.items())
            if all_taken and await self.read("control.idle"):
                break
        else:
            raise AssertionError("never idle")
        while self.places:
            self.decide(self.places.waiting.popleft(), is_delivered=False)
        self.check_memory()
        await self.check_counts()

    async def check_counts(self) -> None:
        """In the host's counts, each frame has one verdict, and each payload that left the receive path one outcome."""
        await ClockCycles(self.dut.clk, 120)
        found = Counter({name: await self.read(f"count.frames_{name}") for name in VERDICTS})
        for name in ("arp_answered", "echo_answered"):
            found[name] = await self.read(f"count.{name}")
        n_late = found["overflow"] - self.expected["overflow"]
        assert 0 <= n_late <= self.n_either, (found, self.expected)
        assert sum(found[name] for name in VERDICTS) == sum(self.expected[name] for name in VERDICTS)
        for name in found:
            missing = self.expected[name] - found[name]
            if name in LATE:
                assert 0 <= missing <= n_late, (name, found, self.expected)
            elif name != "overflow":
                assert missing == 0, (name, found, self.expected)
        ends = {name: await self.read(f"count.records_{name}") for name in ("written", "dropped", "too_long")}
        for name, n in ends.items():
            assert n == self.model.counts[name] == self.counts[name], (name, n, self.model.counts)
        assert sum(ends.values()) == self.n_delivered
        if not self.cut_through:
            assert self.n_delivered == found["accepted"], (ends, found)
        assert await self.read("count.buffers_overwritten") == self.model.counts["overwritten"]
        assert await self.read("count.completions") == await self.read("ring.head") == self.n_taken
        for name, count in (("ring_full", "ring_full"), ("tlb_misses", "tlb_miss"), ("tlb_stalls", "tlb_stall"),
                            ("writes_failed", "write_failed")):  # fmt: skip
            assert await self.read(f"count.{name}") == self.counts[count], name
        assert self.replies == self.expected_replies
