# SPDX-License-Identifier: Apache-2.0
"""Drives memory_tb with records, an AXI4 RAM and a host; every write is checked against the rules as it appears."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiRamWrite, AxiWriteBus
from memory_model import COMPLETION, FLUSHED, GATHERED, List, Model, Record

PAGE = 1 << 16
COUNTS = [
    "written",
    "dropped",
    "too_long",
    "overwritten",
    "completion",
    "ring_full",
    "tlb_miss",
    "tlb_stall",
    "write_failed",
]
STABLE = {"aw": ("awvalid", "awready", ("awaddr", "awlen")), "w": ("wvalid", "wready", ("wdata", "wstrb", "wlast"))}
RING = 0x7F00_0000_0000


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.rng, self.model = dut, random.Random(seed), Model()
        cocotb.log.info("seed %d", seed)
        self.records: deque[Record] = deque()  # to be sent
        self.places: deque[Record] = deque()  # sent, place not yet known
        self.gap: Callable[[], int] = lambda: 0
        self.pages: dict[int, int] = {}  # virtual -> physical, what the host would give
        self.slots: list[int | None] = [None] * 16
        self.counts: Counter[str] = Counter()
        self.cycle = self.n_bursts = self.n_answers = 0
        self.kinds: deque[int] = deque()
        self.bursts: deque[tuple[int, int]] = deque()  # address and bytes, not yet acknowledged
        self.header_answers: list[int] = []  # cycle of each record's acknowledgement
        self.taken: dict[int, int] = {}  # completions read, by list
        self.n_taken = 0
        self.gives: list[int] = []  # cycle of each buffer handed on
        self.ring_log2 = 4
        self.host_reads = True
        self.credit_late: Callable[[], bool] = lambda: False
        self.owed: list[int] = []  # buffers read, not yet given back
        self.reasons: Counter[int] = Counter()
        self.starts: list[int] = []  # cycle of each record's first beat taken
        self.fills_pages = True
        self.has_failed = False  # writes fail from the start
        self.flying: Record | None = None

    async def start(self, *, stall: float = 0.0, answer_stall: float = 0.0) -> None:
        d = self.dut
        for name in ("s_tvalid", "list_write", "tlb_write", "flush", "ring_tail", "s_tlast", "s_tuser", "s_tdata"):
            getattr(d, name).value = 0
        d.ring_base.value, d.ring_size_log2.value = RING, self.ring_log2
        self.connect(stall, answer_stall)
        for _ in range(4):
            await RisingEdge(d.clk)
        d.rst.value = 0
        await RisingEdge(d.clk)
        cocotb.start_soon(self.watch())
        cocotb.start_soon(self.send())
        cocotb.start_soon(self.host())
        self.map(RING, 1 << self.ring_log2 << 5)

    def connect(self, stall: float, answer_stall: float) -> None:
        """Connects clock, reset and host memory to the AXI4 port, which stalls for these shares of the time."""
        d = self.dut
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 6400, unit="ps").start())
        self.ram = AxiRamWrite(AxiWriteBus.from_prefix(d, "m_axi"), d.clk, d.rst, size=1 << 24)
        if stall:
            self.ram.aw_channel.set_pause_generator(self.pauses(stall))
            self.ram.w_channel.set_pause_generator(self.pauses(stall))
        if stall or answer_stall:
            self.ram.b_channel.set_pause_generator(self.pauses(answer_stall or stall))

    def pauses(self, share: float):
        while True:  # in runs, as a busy bus does
            stop = self.rng.random() < share
            yield from [stop] * self.rng.randint(1, 12)

    def map(self, address: int, n_bytes: int) -> None:
        """Adds to the host's table, whose entries the card gets when it asks."""
        for page in range(address >> 16, (address + n_bytes - 1 >> 16) + 1):
            while page not in self.pages:
                physical = self.rng.randrange(1 << 8)
                if physical not in self.pages.values():
                    self.pages[page] = physical

    async def write(self, which: str, index: int, register: int, data: int) -> None:
        d = self.dut
        for name, value in (("write", 1), ("index", index), ("register", register), ("data", data)):
            getattr(d, f"{which}_{name}").value = value
        await RisingEdge(d.clk)
        getattr(d, f"{which}_write").value = 0

    async def open_list(self, index: int, a: List, *, is_mapped: bool = True) -> None:
        assert a.buffer_bytes % 4096 == 0
        assert a.base % 4096 == 0
        self.model.lists[index] = a
        self.taken[index] = 0
        if is_mapped:
            self.map(a.base, a.buffer_bytes * a.n_buffers)
        for register, value in enumerate((a.base & 0xFFFFFFFF, a.base >> 32, a.buffer_bytes, a.n_buffers,
                                          a.max_records, a.gathering, a.overwrite)):  # fmt: skip
            if register != 3:
                await self.write("list", index, register, value)
        await self.write("list", index, 3, a.n_buffers)

    async def give_back(self, index: int, n: int = 1) -> None:
        self.model.lists[index].n_returned += n
        await self.write("list", index, 7, n)

    async def flush(self) -> None:
        self.dut.flush.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.flush.value = 0

    async def send(self) -> None:
        d = self.dut
        while True:
            while not self.records:
                await RisingEdge(d.clk)
            r = self.records.popleft()
            self.places.append(r)
            r.stamp = int(d.now.value)
            r.parsed, r.merged = self.rng.getrandbits(32), self.rng.getrandbits(32)
            r.src_ip, r.src_port = self.rng.getrandbits(32), self.rng.getrandbits(16)
            for name in ("stream", "length", "stamp", "parsed", "merged", "src_ip", "src_port"):
                getattr(d, f"s_{name}").value = getattr(r, name)
            n_words = max(1, (len(r.payload) + 7) // 8)
            for i in range(n_words):
                for _ in range(self.gap()):
                    await RisingEdge(d.clk)
                word = r.payload[8 * i : 8 * i + 8]
                last = i == n_words - 1
                d.s_tdata.value = int.from_bytes(word, "little") | (self.rng.getrandbits(64) << 8 * len(word)) % (
                    1 << 64
                )
                d.s_tkeep.value, d.s_tlast.value = (1 << len(word)) - 1, last
                d.s_tuser.value, d.s_end_of_burst.value = last and r.bad, last and r.end_of_burst
                d.s_tvalid.value = 1
                while True:
                    await RisingEdge(d.clk)
                    if d.s_tready.value == 1:
                        break
                d.s_tvalid.value = 0

    def look(self) -> None:
        """Called each cycle, before the model gets it."""

    async def watch(self) -> None:
        """Samples each cycle as the next edge will."""
        d, m = self.dut, self.model
        held: dict[str, tuple[int, ...]] = {}
        offered: int | None = None
        sending: tuple[Record, bool] | None = None
        while True:
            await ReadOnly()
            self.cycle = int(d.now.value)
            self.look()
            # The cycle since when a record has its place: from then on its buffer's gathering time counts.
            if not on(d, "seen_offer"):
                offered = None
            elif offered is None:
                offered = self.cycle
            for channel, (valid, ready, names) in STABLE.items():
                word = tuple(int(getattr(d, f"m_axi_{n}").value) for n in names) if on(d, f"m_axi_{valid}") else None
                assert channel not in held or held[channel] == word, f"{channel} changed while stalled"
                held.pop(channel, None)
                if word is not None and not on(d, f"m_axi_{ready}"):
                    held[channel] = word
            for name in COUNTS:
                self.counts[name] += on(d, f"count_{name}")
            if on(d, "seen_request"):
                self.kinds.append(int(d.seen_kind.value))
            if on(d, "seen_give"):
                self.gives.append(self.cycle)
            if on(d, "seen_give") and (reason := int(d.seen_reason.value)) in (GATHERED, FLUSHED):
                index = int(d.seen_list.value)
                a = m.lists[index]
                if a.gathering:
                    if reason == GATHERED:
                        assert (self.cycle - a.since) % (1 << 32) + 8 >= a.gathering, "handed on before its time"
                    m.give(index, reason)
                    # A record that has its place already, but is not taken yet, is waited for, too.
                    a.given[-1].n_before += on(d, "seen_offer") and not on(d, "seen_discard")
            if on(d, "seen_place"):
                assert sending is None
                record = self.places.popleft()
                sending = record, on(d, "seen_discard")
                m.place(*sending, offered if offered is not None else self.cycle)
            if on(d, "s_tvalid") and on(d, "s_tready"):
                if sending and not self.flying:
                    self.flying = sending[0]
                    self.starts.append(self.cycle)
                if on(d, "s_tlast"):
                    sending[0].last_stamp = self.cycle
                    m.finish(*sending)
                    sending = self.flying = None
            if on(d, "m_axi_awvalid") and on(d, "m_axi_awready"):
                self.check_burst(int(d.m_axi_awaddr.value), 8 * (int(d.m_axi_awlen.value) + 1))
            if on(d, "m_axi_bvalid") and on(d, "m_axi_bready"):
                kind = self.kinds.popleft()
                self.bursts.popleft()
                if kind == 1:
                    self.header_answers.append(self.cycle)
            await RisingEdge(d.clk)

    def check_burst(self, physical: int, n_bytes: int) -> None:
        """Checks that no write is outside a registered buffer or the ring, or crosses 4 kB (bus) or our own 2 kB."""
        assert physical >> 11 == physical + n_bytes - 1 >> 11, "crosses 2 kB"
        page = next((v for v, p in self.pages.items() if p == physical >> 16), None)
        assert page is not None, f"{physical:#x} is in no page of the table"
        assert page in self.slots, f"{physical:#x} is in no page of the card's table"
        at = page << 16 | physical & 0xFFFF
        inside = at >= RING and at + n_bytes <= RING + (32 << self.ring_log2)
        for a in self.model.lists.values():
            first = at - a.base
            if 0 <= first < a.buffer_bytes * a.n_buffers:
                inside = first // a.buffer_bytes == (first + n_bytes - 1) // a.buffer_bytes
        assert inside, f"{at:#x} + {n_bytes} is in no buffer"
        self.bursts.append((at, n_bytes))

    async def host(self) -> None:
        """Fills pages, reads completions, gives buffers back."""
        d = self.dut
        while True:
            await RisingEdge(d.clk)
            if on(d, "irq_missing") and self.fills_pages:
                await self.fill(int(d.missing_page.value))
            while self.host_reads and int(d.ring_head.value) != self.n_taken:
                self.read_completion()
                d.ring_tail.value = self.n_taken
            while self.owed and not self.credit_late():
                await self.give_back(self.owed.pop(0))

    async def fill(self, page: int) -> None:
        if page in self.slots:
            return
        assert page in self.pages, f"asks for page {page:#x}, which nobody has"
        slot = self.slots.index(None) if None in self.slots else self.rng.randrange(16)
        await self.write("tlb", slot, 3, 0)
        self.slots[slot] = page
        for register, value in ((0, page), (1, self.pages[page]), (2, 0), (3, 1)):
            await self.write("tlb", slot, register, value)

    def memory(self, at: int, n_bytes: int) -> bytes:
        parts = b""
        while n_bytes:
            part = min(n_bytes, PAGE - at % PAGE)
            parts += bytes(self.ram.read(self.pages[at >> 16] << 16 | at % PAGE, part))
            at, n_bytes = at + part, n_bytes - part
        return parts

    def read_completion(self) -> None:
        """Compares the next completion in the ring with the model, and its buffer's content byte for byte."""
        slot = self.n_taken % (1 << self.ring_log2)
        fields = COMPLETION.unpack(self.memory(RING + 32 * slot, 32))
        index, buffer, reason, phase, n_records, n_bad, used, number, *stamps, last_write = fields
        a = self.model.lists[index]
        g = a.given[self.taken[index]]
        wanted = (index, g.buffer, g.reason | self.has_failed << 7, 1 - (self.n_taken >> self.ring_log2 & 1),
                  g.n_records, g.n_bad, g.used, self.n_taken, *g.stamps)  # fmt: skip
        assert (index, buffer, reason, phase, n_records, n_bad, used, number, *stamps) == wanted, (fields, wanted)
        assert len(self.header_answers) >= g.n_before, "completion before its data were acknowledged"
        # Cycles wrap: the later of the two is the one that is less long ago.
        answered = self.header_answers[g.n_before - 1], self.gives[self.n_taken]
        is_first_in_queue = self.counts["ring_full"] == 0
        late = min((last_write - cycle) % (1 << 32) for cycle in answered)
        assert 0 < late <= (40 if is_first_in_queue else 1 << 31), f"stamp {late} cycles after the last answer"
        if not a.overwrite:
            for offset, data in g.content.items():
                assert self.memory(a.base + buffer * a.buffer_bytes + offset, len(data)) == data, f"at {offset}"
        self.reasons[reason & 0x7F] += 1
        self.taken[index] += 1
        self.n_taken += 1
        self.owed.append(index)

    async def drain(self, limit: int = 20_000) -> None:
        """Waits until all records are sent, written and completed; then compares the whole memory with the model."""
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            is_quiet = not (self.records or self.places or self.flying) and on(self.dut, "idle")
            if is_quiet and all(self.taken[i] == len(a.given) for i, a in self.model.lists.items()):
                break
        else:
            raise AssertionError("never idle")
        self.check_memory()

    def check_memory(self) -> None:
        image = bytearray(1 << 24)
        for at, data in self.model.writes:
            for i in range(0, len(data), 32):
                part = data[i : i + 32]
                physical = self.pages[at + i >> 16] << 16 | (at + i) % PAGE
                image[physical : physical + len(part)] = part
        ring = self.pages[RING >> 16] << 16
        actual = bytearray(self.ram.read(0, 1 << 24))
        actual[ring : ring + (32 << self.ring_log2)] = bytes(32 << self.ring_log2)
        if actual != image:
            first = next(i for i in range(1 << 24) if actual[i] != image[i])
            raise AssertionError(f"memory differs at physical {first:#x}: {actual[first : first + 16].hex(' ')}, "
                                 f"wanted {image[first : first + 16].hex(' ')}")  # fmt: skip
        for name in ("written", "dropped", "too_long", "overwritten"):
            assert self.counts[name] == self.model.counts[name], (name, self.counts, self.model.counts)
        assert self.counts["completion"] == self.n_taken
        assert (self.counts["write_failed"] > 0) == self.has_failed


def on(dut, name: str) -> bool:
    return bool(getattr(dut, name).value == 1)
