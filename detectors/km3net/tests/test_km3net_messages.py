# SPDX-License-Identifier: Apache-2.0
"""The experiment's own reader (km3pipe) opens the file of messages. Its hits, events and status must be those sent;
a slow and independent calculation here gives the expected ones."""

import struct
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import of_others
import pytest

from anello.system import exit_codes

pytest.importorskip("anello._engine.km3net", reason="this engine has no KM3NeT")
daq = of_others.package("km3pipe.io.daq")
pytestmark = pytest.mark.long

Hit = tuple[int, int, int]  # raw time in ns, channel, ToT in ns
FIRST_DOM, N_DOMS, SPACING_M, RUN, DETECTOR = 0x30000001, 4, 36.0, 321, 29
FIRST_SLICE, N_SLICES = 15_128_658_000, 3
T0_NS = 479_696  # all PMTs have the same t0 in this test
MUON_NS, MUON_SLICE, CUT = 50_000_000, 1, (2, 3)  # CUT: slice and DOM that lose a datagram
WINDOW_NS, AROUND_NS = 25, 1000
SEED = 20


def muon_at(dom: int) -> int:
    """Time in ns at which a muon from above passes this DOM."""
    return MUON_NS + round((N_DOMS - dom) * SPACING_M / 0.299792458)


EVENT = (muon_at(N_DOMS - 1), muon_at(0))  # times of first and last L1


def sea() -> list[list[list[Hit]]]:
    """Hits by slice and DOM: singles of 3 kHz, 60 pairs, and in one slice a muon that hits two PMTs of each DOM."""
    random = np.random.default_rng(SEED)
    slices = []
    for index in range(N_SLICES):
        doms = []
        for dom in range(N_DOMS):
            hits = [
                (int(t), int(c), int(tot))
                for t, c, tot in zip(
                    random.integers(0, 100_000_000, 9300),
                    random.integers(0, 31, 9300),
                    random.integers(2, 60, 9300),
                    strict=True,
                )
            ]
            for t in random.integers(1000, 99_000_000, 60):
                hits += [(int(t), 4, 27), (int(t) + int(random.integers(0, 26)), 9, 22)]
            if index == MUON_SLICE:
                t = muon_at(dom)
                hits += [(t, 8, 30), (t + 4, 4, 28)]
                hits += [(EVENT[0] - AROUND_NS - 1 + dom, 1, 20), (EVENT[1] + AROUND_NS - 1 + dom, 2, 21)]
            doms.append(sorted(hits))
        slices.append(doms)
    return slices


def datagrams_of(slices: list[list[list[Hit]]]) -> list[bytes]:
    """The datagrams that boards send, with 500 hits each; one is lost."""
    datagrams = []
    for index, doms in enumerate(slices):
        for dom, hits in enumerate(doms):
            number = FIRST_SLICE + index
            parts = [hits[i : i + 500] for i in range(0, len(hits), 500)]
            for sequence, part in enumerate([*parts, []]):
                header = (
                    0x54544443,
                    RUN,
                    sequence,
                    number // 10,
                    number % 10 * 6_250_000,
                    FIRST_DOM + dom,
                    1 << 31,
                    0 if part else 1 << 31,
                    0,
                    0,
                )
                payload = b"".join(struct.pack(">BIB", channel, time, tot) for time, channel, tot in part)
                if (index, dom, sequence) != (*CUT, 5):
                    datagrams.append(struct.pack(">10I", *header) + payload)
    return datagrams


def l1_of(hits: list[Hit]) -> list[list[Hit]]:
    """Groups of hits within 25 ns of their first one, on at least two PMTs; no hit is in two groups."""
    groups, i = [], 0
    while i < len(hits):
        group = [hit for hit in hits[i : i + 40] if hit[0] <= hits[i][0] + WINDOW_NS]
        is_one = len({channel for _, channel, _ in group}) > 1
        groups += [group] if is_one else []
        i += len(group) if is_one else 1
    return groups


@dataclass
class Messages:
    """The messages as the reader decodes them from the file."""

    slices: list[Any] = field(default_factory=list)
    summaries: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)


def read(path: Path) -> Messages:
    messages, pump, parser = Messages(), daq.RePump(filename=str(path)), daq.TimesliceParser()
    while True:
        try:
            blob = pump.process({})
        except StopIteration:
            return messages
        data = BytesIO(blob["RawBytes"])
        kind = daq.DAQPreamble(file_obj=data).data_type
        if kind == 1003:
            messages.slices.append(parser.process(blob))
        elif kind == 2001:
            messages.summaries.append(daq.DAQSummaryslice(data))
        else:
            assert kind == 10001
            messages.events.append(daq.DAQEvent(data))
        assert data.read() == b"" or kind == 1003


def hits_in(table: Any, dom: int) -> list[Hit]:
    own = table[table["dom_id"] == FIRST_DOM + dom]
    return [(int(hit["time"]), int(hit["channel_id"]), int(hit["tot"])) for hit in own]


@pytest.mark.process
def test_the_experiments_reader_finds_what_was_sent(replay: Any, tmp_path: Path) -> None:
    slices = sea()
    code, output, summary = replay(
        datagrams_of(slices),
        f"line.doms={N_DOMS}",
        f"line.detector_id={DETECTOR}",
        "line.t0_spread_ns=0",
        f"slices.run_number={RUN}",
        f"boards.run_number={RUN}",
        "store.messages=messages.dat",
    )
    assert code == exit_codes.INCOMPLETE, output  # one slice lacks a datagram on purpose
    assert summary["balanced"] is True, output
    messages = read(tmp_path / "messages.dat")
    trigger, store = (summary["counters"]["node"][block] for block in ("trigger", "store"))
    assert [len(messages.slices), len(messages.summaries)] == [N_SLICES, N_SLICES]
    assert store["written"] == 2 * N_SLICES + trigger["events"]
    assert store["bytes_written"] == (tmp_path / "messages.dat").stat().st_size
    for index, doms in enumerate(slices):
        check_slice(messages.slices[index], index, doms)
        check_summary(messages.summaries[index], index, doms)
    assert trigger["l1_different_pmts"] == sum(
        len(l1_of(hits)) for index, doms in enumerate(slices) for dom, hits in enumerate(doms) if (index, dom) != CUT
    )
    assert len(messages.events) == trigger["events"] == 1
    check_event(messages.events[0], slices[MUON_SLICE])


def check_slice(blob: Any, index: int, doms: list[list[Hit]]) -> None:
    info, frames = blob["TimesliceInfo"], blob["TimesliceFrameInfos"]
    number = FIRST_SLICE + index
    assert int(info["frame_index"][0]) == index
    assert (int(info["timestamp"][0]), int(info["nanoseconds"][0])) == (number // 10, number % 10 * 100_000_000)
    whole = [dom for dom in range(N_DOMS) if (index, dom) != CUT]
    assert list(frames) == [FIRST_DOM + dom for dom in whole]
    for dom in whole:
        frame, n_sent = frames[FIRST_DOM + dom], -(-len(doms[dom]) // 500)
        assert (int(frame["det_id"][0]), int(frame["run_id"][0])) == (DETECTOR, RUN)
        assert int(frame["dataqueue_status"][0]) == n_sent | (n_sent - 1) << 16
        assert hits_in(blob["TSHits"], dom) == [hit for group in l1_of(doms[dom]) for hit in group]


def check_summary(summary: Any, index: int, doms: list[list[Hit]]) -> None:
    assert (summary.header.det_id, summary.header.run, summary.header.time_slice) == (DETECTOR, RUN, index)
    assert summary.n_summary_frames == N_DOMS
    for dom, hits in enumerate(doms):
        rates = np.asarray(summary.summary_frames[FIRST_DOM + dom], float)
        expected = np.bincount([channel for _, channel, _ in hits], minlength=31) * 10.0
        status = struct.unpack("<I", summary.dq_status[FIRST_DOM + dom])[0]
        is_complete = (status & 0xFFFF) == (status >> 16) + 1
        assert is_complete == ((index, dom) != CUT)
        assert summary.dom_status[FIRST_DOM + dom] == (-(1 << 31), -(1 << 31), 0, 0), "clock valid; trailer"
        assert rates == pytest.approx(expected if is_complete else np.zeros(31), rel=0.0136)


def check_event(event: Any, doms: list[list[Hit]]) -> None:
    assert (event.header.run, event.header.time_slice, event.trigger_counter) == (RUN, MUON_SLICE, 0)
    assert event.trigger_mask == 1 << 4, "JTRIGGER3DMUON"
    groups = {dom: l1_of(hits) for dom, hits in enumerate(doms)}
    triggered = {dom: hits_in(event.triggered_hits, dom) for dom in groups}
    assert triggered == {dom: [(muon_at(dom), 8, 30), (muon_at(dom) + 4, 4, 28)] for dom in groups}
    assert all(group in groups[dom] for dom, group in triggered.items())
    begin, end = EVENT[0] - AROUND_NS, EVENT[1] + AROUND_NS
    for dom, hits in enumerate(doms):
        assert hits_in(event.snapshot_hits, dom) == [hit for hit in hits if begin <= hit[0] <= end]
    assert event.n_triggered_hits == 2 * N_DOMS
    assert event.n_snapshot_hits == len(event.snapshot_hits) >= 2 * N_DOMS + 5, (
        "singles before and behind, at the borders"
    )
