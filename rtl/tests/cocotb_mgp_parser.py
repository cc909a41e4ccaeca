# SPDX-License-Identifier: Apache-2.0
"""Corners of mgp_parser.sv: every verdict in its order, every length modulo 8, stalls on both sides."""

import os
import pathlib
import random

import cocotb
from cocotb.triggers import ClockCycles, ReadOnly, RisingEdge
from cocotb_bench import begin, send, watch
from mgp_packets import (
    END_OF_BURST,
    HITS_WITH_TIME,
    START_OF_BURST,
    WITH_CHECKSUM,
    Fragment,
    marker,
    packet,
    random_fragments,
    seal,
)

OK, TOO_SHORT, WRONG_MAGIC, WRONG_VERSION, WRONG_LENGTH, WRONG_FLAGS, UNKNOWN_SOURCE, WRONG_CHECKSUM = range(8)
EVENT_TRUNCATED, WRONG_EVENT_COUNT, WRONG_HIT, BAD_FRAME = 8, 9, 11, 13
VECTORS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "vectors"
# kind and good first: the rest means something only for some kinds.
START, FRAGMENT, END = range(3)
FIELDS = ["kind", "board", "burst", "marker", "good", "first", "timestamp", "fine", "n_hits", "has_hits", "hits"]


class Bench:
    def __init__(self, dut, seed: int, stalls: float, gaps: float):
        self.dut, self.dice, self.stalls, self.gaps = dut, random.Random(seed), stalls, gaps
        self.beats: list[dict[str, int]] = []
        self.verdicts: list[int] = []

    async def start(self, n_channels: int = 512) -> None:
        # Board 0 has the source 100 on stream 0, board 1 the vectors' source on stream 1, 3 is switched off.
        ids = 100 | 7 << 16 | 102 << 32 | 103 << 48
        await begin(self.dut, board_ids=ids, board_streams=0x3210, board_mask=0b0111, n_channels=n_channels, p_ready=0)
        cocotb.start_soon(watch(self.dut, "p_", FIELDS, self.beats, random.Random(5), self.stalls))
        cocotb.start_soon(self.note_verdicts())

    async def note_verdicts(self) -> None:
        while True:
            await ReadOnly()
            if self.dut.verdict_valid.value:
                self.verdicts.append(int(self.dut.verdict.value))
            await RisingEdge(self.dut.clk)

    async def give(self, data: bytes, **how) -> int:
        """Sends one datagram alone; returns its verdict."""
        n = len(self.verdicts)
        await send(self.dut, data, self.dice, self.gaps, **how)
        for _ in range(3000):
            await RisingEdge(self.dut.clk)
            if len(self.verdicts) > n:
                break
        await ClockCycles(self.dut.clk, 20)
        assert len(self.verdicts) == n + 1
        return self.verdicts[-1]

    def take_packets(self) -> list[tuple[bool, list[Fragment]]]:
        packets: list[tuple[bool, list[Fragment]]] = []
        fragments: list[Fragment] = []
        for beat in self.beats:
            if beat["kind"] == START:
                fragments = []
            elif beat["kind"] == END:
                packets.append((bool(beat["good"]), fragments))
            else:
                if beat["first"]:
                    fragments.append(Fragment(beat["timestamp"], beat["fine"]))
                    n_hits = beat["n_hits"]
                n_here = min(4, n_hits - len(fragments[-1].hits))
                assert bool(beat["has_hits"]) == (n_here > 0)
                fragments[-1].hits += [beat["hits"] >> (16 * i) & 0xFFFF for i in range(n_here)]
                assert beat["hits"] >> (16 * n_here) == 0, "what is beyond the last hit is 0"
        self.beats.clear()
        return packets


def vector(name: str) -> bytes:
    lines = (VECTORS / name).read_text().splitlines()
    return bytes.fromhex("".join(line for line in lines if line[:1] not in ("#", ">")))


@cocotb.test()
async def every_verdict_in_its_order(dut):
    bench = Bench(dut, 1, 0.3, 0.3)
    await bench.start()
    event = [Fragment(1000, 3, [5, 6, 7])]
    good = packet(event)

    def changed(at: int, value: int, data: bytes = good, sealed: bool = False) -> bytes:
        data = data[:at] + bytes([value]) + data[at + 1 :]
        return seal(data) if sealed else data

    cases = [(good[:n], TOO_SHORT) for n in (1, 7, 8, 9, 24, 31)]
    cases += [
        (good, OK),
        (changed(0, 0x4E), WRONG_MAGIC),
        (changed(4, 2), WRONG_VERSION),
        (changed(0, 0x4E, changed(4, 2)), WRONG_MAGIC),
        (changed(5, 2 | 16), WRONG_FLAGS),
        (changed(5, 2 | 12), WRONG_FLAGS),
        (changed(5, 2 | 16, changed(6, 99)), WRONG_FLAGS),
        (changed(6, 99), WRONG_LENGTH),
        (good + b"\0", WRONG_LENGTH),
        (good[:-1], WRONG_LENGTH),
        (changed(36, 1), WRONG_CHECKSUM),
        (changed(len(good) - 1, good[-1] ^ 0x80), WRONG_CHECKSUM),
        (changed(5, 0), WRONG_CHECKSUM),  # the flag was lost on the way
        (packet(event, n_events=0), WRONG_EVENT_COUNT),
        (packet([], START_OF_BURST | WITH_CHECKSUM, n_events=1, payload=bytes(32)), WRONG_EVENT_COUNT),
        (packet([], START_OF_BURST | WITH_CHECKSUM, payload=bytes(33)), WRONG_LENGTH),
        (packet([], END_OF_BURST, payload=bytes(24)), WRONG_LENGTH),
        (packet(event, source_id=101), UNKNOWN_SOURCE),
        (packet(event, source_id=101, n_events=0), WRONG_EVENT_COUNT),
        (packet(event, n_events=2), WRONG_EVENT_COUNT),
        (packet(event * 2, n_events=1), WRONG_EVENT_COUNT),
        (packet([], n_events=1), WRONG_EVENT_COUNT),
        (packet(event, payload=good[32:-1]), EVENT_TRUNCATED),
        (packet(event, n_events=2, payload=good[32:] + bytes(5)), EVENT_TRUNCATED),
        (packet(event, n_events=2, payload=good[32:] + bytes(5) + b"\1"), EVENT_TRUNCATED),
        (packet(event, n_events=1, payload=bytes(5) + b"\xff" + bytes(286)), EVENT_TRUNCATED),
        (packet(event, n_events=1, payload=bytes(5) + b"\xff" + bytes(287)), OK),
        (marker(START_OF_BURST), OK),
        (marker(END_OF_BURST), OK),
    ]
    for data, expected in cases:
        assert await bench.give(data) == expected, (data.hex(), expected)
    assert await bench.give(packet(event, source_id=103), stream=3) == UNKNOWN_SOURCE, "board 3 is masked"
    assert await bench.give(packet(event, source_id=100), stream=2) == UNKNOWN_SOURCE, "another board's stream"
    assert await bench.give(packet(event, source_id=102), stream=2) == OK
    assert await bench.give(good, bad=True) == BAD_FRAME
    assert await bench.give(good[:-3], length=len(good)) == BAD_FRAME
    assert await bench.give(good[:3], length=len(good)) == BAD_FRAME
    assert await bench.give(good + b"abc", length=len(good)) == BAD_FRAME
    assert await bench.give(good) == OK
    used = [is_good for is_good, _ in bench.take_packets()]
    assert used.count(True) == bench.verdicts.count(OK)


@cocotb.test()
async def a_hit_without_pmt_is_wrong_in_a_whole_event_only(dut):
    bench = Bench(dut, 2, 0.2, 0.0)
    await bench.start(n_channels=488)
    fine, wrong = Fragment(1, 0, [487, 0]), Fragment(2, 0, [1, 2, 3, 4, 5, 488])
    assert await bench.give(packet([fine])) == OK
    assert await bench.give(packet([fine, wrong])) == WRONG_HIT
    assert await bench.give(packet([wrong, fine], n_events=3)) == WRONG_HIT  # comes first
    cut = packet([fine, wrong], HITS_WITH_TIME | WITH_CHECKSUM)[32:-1]
    assert await bench.give(packet([fine, wrong], HITS_WITH_TIME, payload=cut)) == EVENT_TRUNCATED


@cocotb.test()
async def the_vectors_of_the_format(dut):
    bench = Bench(dut, 3, 0.5, 0.5)
    await bench.start()
    for name in ("mgp_9bit.hex", "mgp_9bit_checksum.hex", "mgp_16bit_checksum.hex"):
        data = vector(name)
        source = int.from_bytes(data[8:10], "little")
        dut.board_ids.value = 100 | source << 16
        assert await bench.give(data, stream=1) == OK, name
        ((good, fragments),) = bench.take_packets()
        flags = data[5] & ~WITH_CHECKSUM
        again = packet(fragments, flags, source)
        assert good and again[32:] == data[32:], name
    for name in ("mgp_start_of_burst.hex", "mgp_end_of_burst.hex"):
        data = vector(name)
        dut.board_ids.value = 100 | int.from_bytes(data[8:10], "little") << 16
        assert await bench.give(data, stream=1) == OK, name


async def many_packets(dut, seed: int, stalls: float, gaps: float) -> None:
    bench = Bench(dut, seed, stalls, gaps)
    await bench.start()
    dice = random.Random(seed)
    expected = []
    for _ in range(int(os.environ.get("N_PACKETS", "60"))):
        with_time = dice.random() < 0.5
        fragments = random_fragments(dice, with_time, dice.choice([20, 100, 1400]))
        flags = (HITS_WITH_TIME if with_time else 0) | (WITH_CHECKSUM if dice.random() < 0.7 else 0)
        data = packet(fragments, flags)
        if dice.random() < 0.2 and flags & WITH_CHECKSUM:
            at = dice.randrange(32, len(data))
            data = data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]
            expected.append((False, None))
        else:
            expected.append((True, fragments))
        await send(dut, data, dice, gaps)  # the next one follows at once
    await ClockCycles(dut.clk, 3000)
    assert len(bench.verdicts) == len(expected)
    for (good, fragments), (is_right, wanted) in zip(bench.take_packets(), expected, strict=True):
        assert good == is_right
        assert not is_right or fragments == wanted


@cocotb.test()
async def packets_back_to_back(dut):
    await many_packets(dut, 4, 0.0, 0.0)


@cocotb.test()
async def packets_with_stalls_and_gaps(dut):
    await many_packets(dut, 5, 0.4, 0.4)


@cocotb.test()
async def packets_against_a_slow_reader(dut):
    await many_packets(dut, 6, 0.9, 0.0)
