# SPDX-License-Identifier: Apache-2.0
"""Real camera events as fragments of the camera's boards: `anello convert FILE.fits.fz OUT.pcap`.

Each board's part of an event becomes one fragment (docs/reference/camera.md) with the board's own counters, between the
run's markers. cta/zfits.py reads the files.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anello.errors import ConfigError

from .event import LOW_GAIN_AT

COUNTERS_BYTES = 24
WITH_CHECKSUM, START_OF_RUN, END_OF_RUN, GAIN_SELECTED = 1, 2, 4, 64
N_END_MARKERS, MARKER_SPACING_NS = 5, 1_000_000

_HEADER = struct.Struct("<4sBBHIIIIQHBBBBH24s")
_CHECKSUM_AT = 20


@dataclass(frozen=True)
class CameraEvents:
    """E events of B boards with P pixels each, in the order of the file.

    boards: uint16[B], their numbers, rising. event_number: uint32[E]. timestamp_ns: uint64[E], TAI from the file,
    0 = not known. waveform: for each event uint16[B, gain, P, sample], gain 0 is the high one; events may differ in
    gains. low_gain: for each event uint16[B], with a bit for each pixel whose low gain was selected; None: the event
    has all gains, as all events if low_gain is left out. present: bool[E, B], whether the board took part. counters:
    uint8[E, B, 24], as the boards' maker writes them, the rest 0; counters_kind as on the wire. trigger_tag: uint8[E],
    bits of TriggerTag; None: not known. first_cells: uint16[E, B, 8], of the boards' DRS4 chips, only with
    counters_kind DRAGON_DRS4. note: data of the file that were not used, and why; empty: all were used.
    """

    run_id: int
    boards: NDArray[np.uint16]
    event_number: NDArray[np.uint32]
    timestamp_ns: NDArray[np.uint64]
    waveform: Sequence[NDArray[np.uint16]]
    present: NDArray[np.bool_]
    counters: NDArray[np.uint8]
    counters_kind: int
    trigger_tag: NDArray[np.uint8] | None = None
    first_cells: NDArray[np.uint16] | None = None
    low_gain: Sequence[NDArray[np.uint16] | None] = ()
    note: str = ""

    @property
    def n_events(self) -> int:
        return len(self.event_number)

    @property
    def n_boards(self) -> int:
        """Boards of the camera: the highest number plus one."""
        return int(self.boards.max()) + 1


@dataclass(frozen=True)
class Fragment:
    """One datagram of a board, and the time at which it is sent."""

    board: int
    time_ns: int
    data: bytes


# --- Fragments ----------------------------------------------------------------------------------------------------
def fragments(events: CameraEvents) -> Iterator[Fragment]:
    """Yields a start-of-run marker of each board, all fragments in the order of the events, and end-of-run markers."""
    boards = [_Board(events, place) for place in range(len(events.boards))]
    first_ns, last_ns = int(events.timestamp_ns.min()), int(events.timestamp_ns.max())
    for board in boards:
        yield board.marker(START_OF_RUN, max(first_ns - MARKER_SPACING_NS, 0))
    for index in range(events.n_events):
        for board in boards:
            if events.present[index, board.place]:
                yield board.fragment(index)
    for repetition in range(1, N_END_MARKERS + 1):
        for board in boards:
            yield board.marker(END_OF_RUN, last_ns + repetition * MARKER_SPACING_NS)


class _Board:
    """Counts the fragments that a board has sent, for its markers."""

    def __init__(self, events: CameraEvents, place: int) -> None:
        self.events, self.place, self.number = events, place, int(events.boards[place])
        self.n_fragments = self.n_bytes = 0
        self.next_event = int(events.event_number[0])

    def fragment(self, index: int) -> Fragment:
        waveform = self.events.waveform[index][self.place]
        n_gains, n_pixels, n_samples = waveform.shape
        time_ns, number = int(self.events.timestamp_ns[index]), int(self.events.event_number[index])
        events = self.events
        payload = waveform.astype("<u2").tobytes()
        if events.first_cells is not None:
            payload += events.first_cells[index, self.place].astype("<u2").tobytes()
        flags, own = WITH_CHECKSUM, events.counters[index, self.place].tobytes()
        if events.low_gain and (low_gain := events.low_gain[index]) is not None:
            flags |= GAIN_SELECTED
            own = own[:LOW_GAIN_AT] + int(low_gain[self.place]).to_bytes(2, "little")
        data = self._sealed(
            flags,
            number,
            time_ns,
            payload,
            shape=(n_samples, n_pixels, n_gains),
            kind=events.counters_kind,
            tag=0 if events.trigger_tag is None else int(events.trigger_tag[index]),
            own=own,
        )
        self.n_fragments += 1
        self.n_bytes += len(data)
        self.next_event = (number + 1) % 2**32
        return Fragment(self.number, time_ns, data)

    def marker(self, flag: int, time_ns: int) -> Fragment:
        first_event = int(self.events.event_number[0])
        totals = struct.pack("<QQII", self.n_fragments, self.n_bytes, first_event, self.next_event)
        data = self._sealed(flag | WITH_CHECKSUM, self.next_event, time_ns, totals)
        return Fragment(self.number, time_ns, data)

    def _sealed(
        self,
        flags: int,
        event_number: int,
        time_ns: int,
        payload: bytes,
        *,
        shape: tuple[int, int, int] = (0, 0, 0),
        kind: int = 0,
        tag: int = 0,
        own: bytes = b"",
    ) -> bytes:
        header = _HEADER.pack(
            b"CAM1",
            1,
            flags,
            self.number,
            self.events.run_id,
            event_number,
            self.n_fragments,
            0,
            time_ns,
            *shape,
            kind,
            tag,
            len(payload),
            own,
        )
        checksum = struct.pack("<I", crc32c(header + payload))
        return header[:_CHECKSUM_AT] + checksum + header[_CHECKSUM_AT + 4 :] + payload


def _crc32c_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


_CRC_TABLE = _crc32c_table()


def crc32c(data: bytes) -> int:
    """The checksum of docs/reference/camera.md."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


# --- Capture files ------------------------------------------------------------------------------------------------
_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 0x40000, 1)  # nanosecond stamps, Ethernet
_IP_HEADER = struct.Struct(">BBHHHBBH4s4s")


def write_pcap(path: Path, events: CameraEvents, first_port: int = 6000, n_ports: int = 0) -> int:
    """Writes the fragments as Ethernet frames and returns their number.

    n_ports: ports that the boards share in contiguous ranges, from first_port on; 0: one for each board. Raises
    ConfigError, OSError.
    """
    n_ports = n_ports or events.n_boards
    if not 1 <= n_ports <= events.n_boards:
        raise ConfigError("--ports", f"must be 1 to {events.n_boards}", str(n_ports), "Boards may share ports")
    if not 1 <= first_port <= 65536 - n_ports:
        raise ConfigError("--first-port", f"must be 1 to {65536 - n_ports}", str(first_port), "The default is 6000")
    n_frames = 0
    with path.open("wb") as file:
        file.write(_PCAP_HEADER)
        for fragment in fragments(events):
            port = first_port + fragment.board * n_ports // events.n_boards
            frame = _frame(fragment, port)
            stamp = divmod(fragment.time_ns, 1_000_000_000)
            file.write(struct.pack("<IIII", *stamp, len(frame), len(frame)) + frame)
            n_frames += 1
    return n_frames


def _frame(fragment: Fragment, port: int) -> bytes:
    """Adds Ethernet, IPv4, UDP: board b sends from 10.0.0.1 + b, port 50000 + b. The UDP checksum is left out (0)."""
    n_bytes = len(fragment.data)
    source = (0x0A000001 + fragment.board).to_bytes(4, "big")
    fields = (0x45, 0, n_bytes + 28, 0, 0, 64, 17, 0, source, bytes([127, 0, 0, 1]))
    total = sum(struct.unpack(">10H", _IP_HEADER.pack(*fields)))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    addresses = bytes([2, 0, 0, 0, 0, 255, 2, 0, 0, 0]) + (fragment.board + 1).to_bytes(2, "big")
    udp = struct.pack(">HHHH", 50_000 + fragment.board % 15_000, port, n_bytes + 8, 0)
    return addresses + b"\x08\x00" + _IP_HEADER.pack(*fields[:7], checksum, *fields[8:]) + udp + fragment.data
