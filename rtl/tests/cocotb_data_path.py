# SPDX-License-Identifier: Apache-2.0
"""Corners of the merger in data_path.sv, each a few datagrams long; volume is rtl/model/data_path_check.cpp's."""

import random

import cocotb
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from cocotb_bench import begin, send, watch
from mgp_packets import END_OF_BURST, START_OF_BURST, Fragment, marker, packet

BOARDS = 4
TIMEOUT = 400
COUNTERS = ["late", "duplicate", "ahead", "missing", "silenced"]
SINGLE = ["dropped", "event_complete", "event_incomplete", "event_rejected", "burst_over"]


class Bench:
    def __init__(self, dut, seed: int = 1, stalls: float = 0.2):
        self.dut, self.dice, self.stalls = dut, random.Random(seed), stalls
        self.words: list[dict[str, int]] = []
        self.cycle = 0
        self.counts = {name: [0] * BOARDS for name in COUNTERS} | {name: [0] for name in SINGLE}

    async def start(self, **config: int) -> None:
        ids = sum((100 + b) << (16 * b) for b in range(BOARDS))
        usual = {
            "boards": 0xF,
            "n_channels": 512,
            "drop_when_full": 1,
            "window": 2,
            "far_fine": 100_000,
            "timeout": TIMEOUT,
            "keep_incomplete": 1,
        }
        await begin(self.dut, board_ids=ids, board_streams=0x3210, cycle=0, m_tready=0, **(usual | config))
        cocotb.start_soon(watch(self.dut, "m_t", ["data", "last", "user"], self.words, self.dice, self.stalls))
        cocotb.start_soon(self.count())

    async def count(self) -> None:
        while True:
            await ReadOnly()
            for name in COUNTERS:
                flags = int(getattr(self.dut, name).value)
                for b in range(BOARDS):
                    self.counts[name][b] += flags >> b & 1
            for name in SINGLE:
                self.counts[name][0] += int(getattr(self.dut, name).value)
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            self.dut.cycle.value = self.cycle

    async def give(self, board: int, times: list[int], burst: int = 1, n_hits: int = 3) -> None:
        fragments = [Fragment(t, 7, [board * 16 + i for i in range(n_hits)]) for t in times]
        data = packet(fragments, source_id=100 + board, burst=burst)
        await send(self.dut, data, self.dice, 0.1, stream=board, stamp=self.cycle)

    async def mark(self, which: int, burst: int = 1, boards=range(BOARDS)) -> None:
        for board in boards:
            await send(self.dut, marker(which, 100 + board, burst), self.dice, stream=board, stamp=self.cycle)

    async def settle(self, n_cycles: int = 250) -> None:
        await ClockCycles(self.dut.clk, n_cycles)

    def events(self) -> list[tuple[int, int, int]]:
        """(timestamp, missing, hits) of the events so far; ends of burst are (-1, burst, 0)."""
        found, record = [], []
        for beat in self.words:
            record.append(beat["data"])
            if not beat["last"]:
                continue
            if beat["user"]:
                found.append((-1, record[0] >> 32, 0))
            else:
                n_hits = [record[1] >> (8 * b) & 0xFF for b in range(4)]
                assert len(record) == 3 + sum((n + 3) // 4 for n in n_hits)
                found.append((record[0] & 0xFFFFFFFF, record[1] >> 48 & 0xFF, sum(n_hits)))
            record = []
        self.words.clear()
        return found


@cocotb.test()
async def a_fragment_within_the_window_joins_and_one_beyond_does_not(dut):
    bench = Bench(dut)
    await bench.start()
    for board, times in enumerate([[100, 200], [102, 200], [100, 203], [103, 204]]):
        await bench.give(board, times)
    await bench.mark(END_OF_BURST)
    await bench.settle(600)
    # 103 is beyond 100's window; so is 203 of 200's, and 204 is within 203's.
    assert bench.events() == [(100, 0b1000, 9), (103, 0b0111, 3), (200, 0b1100, 6), (203, 0b0011, 6), (-1, 1, 0)]


@cocotb.test()
async def late_ends_with_the_window_of_the_last_event(dut):
    bench = Bench(dut)
    await bench.start()
    for board in (0, 2, 3):
        await bench.give(board, [100, 200])
    await bench.settle(3 * TIMEOUT)
    assert bench.events() == [(100, 0b0010, 9), (200, 0b0010, 9)]
    assert bench.counts["silenced"] == [0, 1, 0, 0]
    await bench.give(1, [200, 201, 202, 203])
    for board in (0, 2, 3):
        await bench.give(board, [203])
    await bench.settle()
    assert bench.counts["late"] == [0, 3, 0, 0]
    assert bench.events() == [(203, 0, 12)]


@cocotb.test()
async def a_board_in_the_last_event_goes_on_and_a_repetition_is_dropped(dut):
    bench = Bench(dut)
    await bench.start()
    for board in range(BOARDS):
        await bench.give(board, [100, 100, 101] if board == 2 else [100, 150])
    await bench.give(2, [150])
    await bench.settle()
    assert bench.events()[:2] == [(100, 0, 12), (101, 0b1011, 3)]
    assert bench.counts["duplicate"] == [0, 0, 1, 0]
    assert bench.counts["late"] == [0, 0, 0, 0]


@cocotb.test()
async def a_silent_board_is_waited_for_once_and_comes_back(dut):
    bench = Bench(dut)
    await bench.start()
    for time in (100, 200, 300):
        for board in range(3):
            await bench.give(board, [time])
    await bench.settle(TIMEOUT // 2)
    assert bench.events() == []
    await bench.settle(3 * TIMEOUT)
    assert [e[:2] for e in bench.events()] == [(100, 8), (200, 8), (300, 8)]
    assert bench.counts["silenced"] == [0, 0, 0, 1]
    await bench.give(3, [400])
    for board in range(3):
        await bench.give(board, [400])
    await bench.settle()
    assert bench.events() == [(400, 0, 12)]


@cocotb.test()
async def a_masked_board_is_neither_waited_for_nor_read(dut):
    bench = Bench(dut)
    await bench.start(boards=0b1011)
    for board in range(BOARDS):
        await bench.give(board, [100, 200])
    await bench.mark(END_OF_BURST)
    await bench.settle()
    assert bench.events() == [(100, 0, 9), (200, 0, 9), (-1, 1, 0)]
    assert bench.counts["event_complete"] == [2]


@cocotb.test()
async def incomplete_events_are_rejected_when_told_to(dut):
    bench = Bench(dut)
    await bench.start(keep_incomplete=0)
    for board in range(BOARDS):
        await bench.give(board, [100, 300] if board == 1 else [100, 200, 300])
    await bench.mark(END_OF_BURST)
    await bench.settle(500)
    assert bench.events() == [(100, 0, 12), (300, 0, 12), (-1, 1, 0)]
    assert bench.counts["event_rejected"] == [1]
    assert bench.counts["missing"] == [0, 1, 0, 0]


@cocotb.test()
async def timestamps_wrap(dut):
    bench = Bench(dut)
    await bench.start()
    times = [0xFFFFFF00, 0xFFFFFFFF, 1, 200]
    for board in range(BOARDS):
        await bench.give(board, times)
    await bench.mark(END_OF_BURST)
    await bench.settle(500)
    # 1 lies within the window after 0xffffffff, but every board is in that event already.
    assert [e[0] for e in bench.events()] == [*times, -1]


@cocotb.test()
async def a_jump_of_one_board_is_not_followed_and_one_of_half_is(dut):
    bench = Bench(dut)
    await bench.start()
    for board in range(BOARDS):
        await bench.give(board, [100])
    await bench.give(1, [1_000_000, 1_000_100])
    for board in (0, 2, 3):
        await bench.give(board, [200])
    await bench.settle(3 * TIMEOUT)
    assert bench.events() == [(100, 0, 12), (200, 2, 9)]
    await bench.give(3, [1_000_000])
    await bench.settle(3 * TIMEOUT)
    assert bench.events() == [(1_000_000, 0b0101, 6), (1_000_100, 0b1101, 3)]
    assert bench.counts["ahead"] == [0, 0, 0, 0]


@cocotb.test()
async def a_jump_that_nobody_follows_is_ahead_at_the_end_of_the_burst(dut):
    bench = Bench(dut)
    await bench.start()
    for board in range(BOARDS):
        await bench.give(board, [100])
    await bench.give(1, [1_000_000, 1_000_100, 1_000_200])
    await bench.mark(END_OF_BURST)
    await bench.settle(3 * TIMEOUT)
    assert bench.events() == [(100, 0, 12), (-1, 1, 0)]
    assert bench.counts["ahead"] == [0, 3, 0, 0]


@cocotb.test()
async def bursts_follow_one_another(dut):
    bench = Bench(dut)
    await bench.start()
    await bench.mark(START_OF_BURST, 7)
    for board in range(BOARDS):
        await bench.give(board, [5000], burst=7)
    await bench.give(0, [10], burst=8)  # a burst ahead, without an end of the old one: it waits
    await bench.mark(END_OF_BURST, 7)
    await bench.mark(END_OF_BURST, 7)  # repeated
    for board in (1, 2, 3):
        await bench.give(board, [10], burst=8)
    await bench.mark(END_OF_BURST, 8)
    await bench.mark(END_OF_BURST, 9)  # a burst without events
    await bench.settle(600)
    assert bench.events() == [(5000, 0, 12), (-1, 7, 0), (10, 0, 12), (-1, 8, 0), (-1, 9, 0)]
    await bench.give(2, [6000], burst=7)
    await bench.settle()
    assert bench.counts["late"] == [0, 0, 1, 0], "its burst has gone"


@cocotb.test()
async def a_damaged_burst_number_costs_its_own_fragments(dut):
    bench = Bench(dut)
    await bench.start()
    for board in range(BOARDS):
        await bench.give(board, [100])
    await bench.give(1, [150], burst=0xDEAD)
    for board in range(BOARDS):
        await bench.give(board, [200])
    await bench.mark(END_OF_BURST)
    await bench.settle(3 * TIMEOUT)
    assert bench.events() == [(100, 0, 12), (200, 0, 12), (-1, 1, 0)]
    assert bench.counts["late"] == [0, 1, 0, 0]


@cocotb.test()
async def a_full_store_drops_whole_packets_and_goes_on(dut):
    bench = Bench(dut)
    await bench.start(timeout=1 << 30)
    times = list(range(100, 100 + 60 * 40, 40))
    for i in range(0, 20):
        await bench.give(0, [t + 2400 * i for t in times], n_hits=1)  # nobody else sends: the store of 1024 fills
    await bench.settle()  # the last packet's fate is known when it has gone through the parser
    assert bench.counts["dropped"][0] >= 2
    n_kept = 20 - bench.counts["dropped"][0]
    bench.stalls = 0
    for i in range(0, 20):
        for board in (1, 2, 3):
            await bench.give(board, [t + 2400 * i for t in times], n_hits=1)
    await bench.mark(END_OF_BURST)
    await bench.settle(20_000)
    events = bench.events()
    assert sum(missing == 0 for _, missing, _ in events[:-1]) == 60 * n_kept
    assert sum(hits for _, _, hits in events) == 60 * (n_kept + 60)


@cocotb.test()
async def a_full_store_that_waits_loses_nothing_while_others_are_behind_it(dut):
    bench = Bench(dut)
    await bench.start(drop_when_full=0)
    times = list(range(100, 100 + 60 * 40, 40))
    for i in range(0, 20):
        await bench.give(0, [t + 2400 * i for t in times], n_hits=1)
    # A burst of one board of four does not begin: what fills the store is given up, a packet at a time, and the input
    # moves on. Nothing is dropped at the door.
    await bench.settle()
    assert bench.counts["dropped"] == [0]
    assert bench.events() == []
    n_late = bench.counts["late"][0]
    assert n_late in (60 * 4, 60 * 5)
    for i in range(0, 20):
        for board in (1, 2, 3):
            await bench.give(board, [t + 2400 * i for t in times], n_hits=1)
    await bench.mark(END_OF_BURST)
    await bench.settle(20_000)
    assert bench.counts["dropped"] == [0]
    assert bench.counts["late"] == [n_late, 0, 0, 0]
    events = bench.events()
    assert sum(missing == 0 for _, missing, _ in events[:-1]) == 60 * 20 - n_late
    assert sum(hits for _, _, hits in events) == 60 * 80 - n_late
