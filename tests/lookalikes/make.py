# SPDX-License-Identifier: Apache-2.0
"""Small files in the formats of the real data, under the same names: what tests read where there is no real data.

    python tests/lookalikes/make.py FOLDER

It is written from the published formats, with the standard library alone, and shares nothing with what reads the files.
FOLDER/truth.json tells what is in them. Each call makes the same files; those that C++ tests read lie next to this one.
"""

import json
import math
import random
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Point = tuple[float, float]
SLICE_TICKS = 6_250_000  # of 16 ns: 100 ms


class Dice:
    """Only random() is the same in every version of Python."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self._random.random()

    def whole(self, low: int, high: int) -> int:
        """low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def some(self, items: Sequence[Any], n: int) -> list[Any]:
        """n of them in any order, none twice."""
        left = list(items)
        return [left.pop(self.whole(0, len(left) - 1)) for _ in range(min(n, len(left)))]


# --- KM3NeT -------------------------------------------------------------------------------------------------------
def clb_datagrams() -> tuple[bytes, dict[str, Any]]:
    """clb.dqd: a little-endian length before each datagram, in which everything is big-endian.

    As there: the short header, two slices, the first of which lacks its first datagrams; hits in the order of time for
    each channel, not for all. They have pulses that two PMTs see, and the smallest and the largest numbers of a hit.
    One datagram has no hit at all.
    """
    dice, dom, first_sequence = Dice(1), 0x30D0_0B17, 2
    content, n_hits, first_hits = b"", [], []
    parts = [(first_sequence, 0, 31), (first_sequence + 1, 0, 0), (first_sequence + 2, 0, 12), (0, 1, 40)]
    for sequence, slice_index, n in parts:
        times_ns = sorted(dice.whole(1, 99_999_000) for _ in range(n))
        hits = [(dice.whole(1, 30), time_ns, dice.whole(1, 254)) for time_ns in times_ns]
        for at in range(2, n - 1, 4):
            channel, time_ns, _ = hits[at]
            hits[at : at + 2] = [(1 + channel % 30, time_ns + dice.whole(1, 20), dice.whole(1, 254)), hits[at]]
        if hits:
            hits[1], hits[-1] = (0, 0, 0), (30, 99_999_999, 255)
        ticks = 12_500_000 + SLICE_TICKS * slice_index
        header = struct.pack(">4s6I", b"TTDC", 7, sequence, 26_690, ticks, dom, 0x8000_0000)
        datagram = header + b"".join(struct.pack(">BIB", *hit) for hit in hits)
        content += struct.pack("<I", len(datagram)) + datagram
        n_hits.append(n)
        first_hits += hits[:1]
    truth = {
        "n_hits": n_hits, "udp_sequence": [sequence for sequence, *_ in parts], "dom_id": dom, "first_hits": first_hits,
        "n_never_sent": first_sequence,
    }  # fmt: skip
    return content, truth


def l1_messages() -> tuple[bytes, dict[str, Any]]:
    """IO_TSL1_1003.dat: L1 slices in which everything is little-endian but the times of hits.

    As there: frames without a hit, and such of a lamp that channels 12 and 0 see 4 to 7 ns apart, either first; 12 is
    written before 0.
    """
    dice, n_by_dt, content = Dice(2), dict.fromkeys(range(4, 8), 0), b""
    first_frames, first_hits = [], []
    n_messages, doms = 3, (808_447_031, 806_451_239, 808_972_593, 809_006_416)
    for index in range(n_messages):
        common = struct.pack("<iiiII", 49, 4_412, 20_011 + 10 * index, 1_605_030_000 + index, 5 * SLICE_TICKS)
        frames = b""
        for dom in doms:
            n_pairs = 0 if dom == doms[1] else 6 + index
            hits = b""
            for pair in range(n_pairs):
                time_ns, dt_ns = 607_000 + 1_000_035 * pair + dice.whole(0, 90), dice.whole(4, 7)
                n_by_dt[dt_ns] += 1
                times = (time_ns, time_ns + dt_ns) if dice.whole(0, 1) else (time_ns + dt_ns, time_ns)
                for hit in ((12, times[0], dice.whole(20, 30)), (0, times[1], dice.whole(20, 30))):
                    hits += struct.pack(">BIB", *hit)
                    first_hits.append(hit)
            n_received, last_sequence = (12, 11) if not n_pairs else (2, 1)
            status = (n_received | last_sequence << 16, 0x8000_0200, 0x8000_0020, 0, 0)
            frames += struct.pack("<ii", 56 + len(hits), 101) + common
            frames += struct.pack("<i5Ii", dom, *status, 2 * n_pairs) + hits
            if index == 0:
                first_frames.append([dom, n_received, last_sequence, *status[1:3], 2 * n_pairs])
        content += struct.pack("<iih", 34 + len(frames), 1003, 1) + common + struct.pack("<i", len(doms)) + frames
    n_pairs = sum(n_by_dt.values())
    return content, {
        "n_messages": n_messages, "n_hits": 2 * n_pairs, "n_pairs": n_pairs, "n_by_dt_ns": n_by_dt,
        "first_origin": [49, 4_412, 20_011, 1_605_030_000_500_000_000], "first_hits": first_hits[:3],
        "first_frames": first_frames,
    }  # fmt: skip


# --- NA62 ---------------------------------------------------------------------------------------------------------
ROW_MM = 18 * math.sqrt(3) / 2
# For "updown" 0 and 1: place of the first PMT of the first supercell in each of six rows of supercells (x in mm, y in
# rows of PMTs), how many there are. The next supercell of a row is 45 mm to the right and one row of PMTs lower.
SUPERCELL_ROWS = (
    ((-261, 6, 12), (-252, 9, 12), (-198, 11, 11), (-189, 14, 11), (-135, 16, 9), (-36, 17, 6)),
    ((-270, 3, 12), (-279, 0, 12), (-288, -3, 11), (-297, -6, 11), (-261, -10, 9), (-225, -14, 6)),
)
IN_SUPERCELL = ((0, 0), (18, 0), (36, 0), (9, 1), (27, 1), (0, 2), (18, 2), (36, 2))
# Readout channels: of each supercell of updown 0 and 1 the group of eight, of each PMT in a supercell its place in it.
GROUPS = (
    "60 59 55 51 47 39 35 27 23 15 11 7 57 58 54 50 43 38 31 26 19 14 6 3 56 53 46 42 37 30 25 18 13 5 2 "
    "52 49 45 41 34 29 22 17 10 4 1 48 44 40 33 28 21 16 9 0 36 32 24 20 12 8",
    "56 52 44 40 32 28 20 16 8 4 0 1 57 53 45 41 33 29 21 17 12 5 2 3 58 54 48 42 36 30 24 18 13 9 6 "
    "60 55 49 43 37 31 25 19 14 10 7 59 50 46 38 34 26 22 15 11 51 47 39 35 27 23",
)
IN_GROUP = (7, 3, 2, 6, 1, 5, 4, 0)
FIT_OFFSETS_MM = ((146.8, 19.8), (196.7, 9.5))  # of the disks Jura and Saleve since 2016


def pmts() -> list[tuple[int, int, int, int, float, float, int]]:
    """Disk, updown, supercell, PMT in it, x_mm, y_mm in the disk's frame, readout channel; in the order of `seq`."""
    rows = []
    for disk in (0, 1):
        for updown in (0, 1):
            places = [(x + 45 * i, y - i) for x, y, n in SUPERCELL_ROWS[updown] for i in range(n)]
            groups = [int(group) for group in GROUPS[updown].split()]
            for supercell, ((x, y), group) in enumerate(zip(places, groups, strict=True)):
                for pmt, (right, up) in enumerate(IN_SUPERCELL):
                    channel = (2 * disk + updown) * 512 + group * 8 + IN_GROUP[pmt]
                    place = (float(x + right), round((y + up) * ROW_MM, 2))
                    rows.append((disk, updown, supercell, pmt, *place, channel))
    return rows


def in_fit_frame(pmt: Sequence[Any]) -> Point:
    offset = FIT_OFFSETS_MM[pmt[0]]
    return pmt[4] - offset[0], pmt[5] - offset[1]


def on_ring(ring: tuple[float, float, float], within_mm: float = 5.0) -> list[int]:
    """PMTs whose centres, in the fit frame, are so close to the circle."""
    x_mm, y_mm, radius_mm = ring
    places = (in_fit_frame(pmt) for pmt in pmts())
    return [seq for seq, (x, y) in enumerate(places) if abs(math.hypot(x - x_mm, y - y_mm) - radius_mm) < within_mm]


def na62_events() -> tuple[str, str, dict[str, Any]]:
    """na62_run8548_events_hits.csv and _rings.csv.

    As there: numbers with gaps; hits out of time, in one event those of another ring; events without such; fits that
    failed, of which one left a circle where there is none and one nothing; a ring of so few hits next to others that it
    is found only by a finder that knows how many hits a ring has there.
    """
    dice, all_pmts = Dice(3), pmts()
    far, few = (-505.0, 41.5, 205.3), 6
    events: list[tuple[int, str, Any, int, int, Any]] = [
        (0, "muon", (-112.4, -61.0, 183.2), 18, 14, None), (1, "muon", (-40.3, 42.6, 186.9), 20, 0, None),
        (3, "muon", (-151.7, -22.5, 177.6), 19, 22, (-60.0, 70.0, 175.0)),
        (4, "pion", (-75.1, 80.2, 168.8), 17, 5, None), (6, "pion", None, 9, 12, None),
        (7, "pion", (-181.3, 61.0, 126.4), 14, 10, None),
        (9, "positron", (-150.8, -19.6, 190.2), 26, 9, None), (12, "positron", far, 9, 3, None),
        (13, "positron", (-205.5, 58.3, 189.4), 15, 6, None), (15, "positron", (-98.0, 18.2, 188.4), few, 4, None),
    ]  # fmt: skip
    hits, rings = ["event,pmt_seq,disk,x_mm,y_mm,in_time"], []
    rings.append("event,particle,ring_x_mm,ring_y_mm,ring_radius_mm,n_hits,n_in_time")
    n_in_all, n_good, n_clear = 0, 0, 0
    for event, particle, ring, n_in, n_out, other_ring in events:
        is_good, is_clear = ring not in (None, far), n_in > few
        inside = dice.some(on_ring(ring) if is_good else range(1952), n_in)
        inside += dice.some([one for one in range(1952) if one not in inside], 0 if is_clear else few - 1)
        others = on_ring(other_ring) if other_ring else range(1952)
        outside = dice.some([one for one in others if one not in inside], n_out)
        n_in_all += len(inside)
        n_good += is_good
        n_clear += is_good and is_clear
        for seq in sorted(inside + outside):
            x_mm, y_mm = in_fit_frame(all_pmts[seq])
            hits.append(f"{event},{seq},{all_pmts[seq][0]},{x_mm:.1f},{y_mm:.2f},{int(seq in inside)}")
        circle = ",".join(f"{part:.1f}" for part in ring) if ring else ",,"
        rings.append(f"{event},{particle},{circle},{len(inside) + len(outside)},{len(inside)}")
    truth = {
        "n_events": len(events), "n_hits": len(hits) - 1, "n_in_time": n_in_all, "first_ring": events[0][2],
        "n_rings": sum(ring is not None for _, _, ring, *_ in events),
        "n_found": n_good, "n_found_as_usual": n_clear,
        "first_hit": [float(part) for part in (hits[1].split(",")[at] for at in (1, 3, 4))],
    }  # fmt: skip
    return "\n".join([*hits, ""]), "\n".join([*rings, ""]), truth


def na62_one_event() -> tuple[str, str, dict[str, Any]]:
    """na62_2018E_one_event_hits.csv: places as 32-bit floats in the disk's frame, hits of three times in any order, one
    well before the others of its group, one PMT twice. And of na62_rich_pmt_map.csv the supercells that have a hit.
    """
    dice, all_pmts, reference_ns = Dice(4), pmts(), -7.418906
    times_ns = (0.0, 13.0, 47.5)
    muon, pion = dice.some(on_ring((-120.0, 4.0, 181.0), 4), 15), dice.some(on_ring((-75.0, -38.0, 174.0), 4), 13)
    groups = ([*muon, muon[3]], dice.some([one for one in range(1952) if one % 60 == 7], 8), pion)
    hits = []
    for group, (time_ns, members) in enumerate(zip(times_ns, groups, strict=True)):
        for i, seq in enumerate(members):
            late_ns = -4.2 if (group, i) == (0, 5) else dice.between(-0.7, 0.7)
            x_mm, (y_mm,) = all_pmts[seq][4], struct.unpack("<f", struct.pack("<f", all_pmts[seq][5]))
            hit_ns = reference_ns + time_ns + late_ns
            hits.append(f"{x_mm:.1f},{y_mm:.6f},{all_pmts[seq][0]:.1f},{hit_ns:.6f},{reference_ns:.6f},"
                        f"{reference_ns - hit_ns:.6f}")  # fmt: skip
    head = "x_mm,y_mm,disk,hit_time_ns,reference_time_ns,time_difference_ns"
    touched = {seq // 8 for group in groups for seq in group}
    rows = [",".join(map(str, (seq, *pmt))) for seq, pmt in enumerate(all_pmts) if seq // 8 in touched]
    truth = {"times_ns": times_ns, "n_hits": [len(group) for group in groups], "n_rings": [1, 0, 1], "n_together": 2}
    map_head = "seq,disk,updown,supercell,pmt,x_mm,y_mm,readout_channel"
    return "\n".join([head, *dice.some(hits, len(hits)), ""]), "\n".join([map_head, *rows, ""]), truth


# --- CTA's cameras: zfits -----------------------------------------------------------------------------------------
# FITS binary tables of which a tile of rows is stored column by column; a table's data begin with where each column of
# each tile is. A row is a message, a column one of its fields.
KINDS = {  # a field's type: its letter in a header, struct's letter, TZERO as the cameras' writer gave it
    "i32": ("J", "i", None), "u32": ("J", "I", 2**31), "u64": ("K", "Q", 2**63 - 1), "bool": ("L", "B", None),
    "i16[]": ("I", "h", None), "u16[]": ("I", "H", 32678), "u8[]": ("B", "B", -128), "u32[]": ("J", "I", 2**31),
    "str": ("A", "s", None),
}  # fmt: skip
Column = tuple[str, str, str, Sequence[Any]]  # name, type, number in the message, a value for each row


def header(cards: Iterable[tuple[str, Any]]) -> bytes:
    text = ""
    for key, value in cards:
        shown = f"'{value:<8}'" if isinstance(value, str) else f"{'T' if value is True else value!s:>20}"
        text += f"{key:<8}= {shown}".ljust(80)
    text += "END".ljust(80)
    return text.ljust(-(-len(text) // 2880) * 2880).encode("ascii")


def block(kind: str, values: Sequence[Any]) -> bytes:
    """A column of a tile: its size, column-wise, one step of packing, which is none; each list behind its size."""
    packed = KINDS[kind][1]
    rows = b""
    for value in values:
        if kind == "str":
            rows += struct.pack("<I", len(value)) + value.encode("ascii")
        elif kind.endswith("[]"):
            rows += struct.pack("<I", len(value) * struct.calcsize("<" + packed))
            rows += struct.pack(f"<{len(value)}{packed}", *value)
        else:
            rows += struct.pack("<" + packed, value)
    rows += bytes(-len(rows) % 4)
    return struct.pack("<QcBH", 12 + len(rows), b"C", 1, 0) + rows


def table(name: str, message: str, columns: Sequence[Column], rows_per_tile: int = 2) -> bytes:
    n_rows = len(columns[0][3])
    tiles = range(0, n_rows, rows_per_tile)
    index, heap = b"", b""
    for first in tiles:
        blocks = [block(kind, values[first : first + rows_per_tile]) for _, kind, _, values in columns]
        n_in_tile = min(rows_per_tile, n_rows - first)
        heap += struct.pack("<4sIQ", b"TILE", n_in_tile, sum(map(len, blocks)))
        for one in blocks:
            index += struct.pack(">qq", len(one), len(heap))
            heap += one
    n_most = [max(map(len, values)) if kind == "str" or kind.endswith("[]") else 1 for _, kind, _, values in columns]
    row_bytes = sum(n * struct.calcsize(KINDS[kind][1]) for n, (_, kind, *_) in zip(n_most, columns, strict=True))
    cards: list[tuple[str, Any]] = [
        ("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 16 * len(columns)), ("NAXIS2", len(tiles)),
        ("PCOUNT", len(heap)), ("GCOUNT", 1), ("TFIELDS", len(columns)), ("EXTNAME", name), ("ZTABLE", True),
        ("ZNAXIS1", row_bytes), ("ZNAXIS2", n_rows), ("ZPCOUNT", 0), ("ZHEAPPTR", len(index)),
        ("ZTILELEN", rows_per_tile), ("THEAP", len(index)), ("RAWSUM", "0"), ("ZSHRINK", 1), ("PBFHEAD", message),
        ("ORIGIN", "CTA"),
    ]  # fmt: skip
    for number, (n, (field, kind, field_number, _)) in enumerate(zip(n_most, columns, strict=True), 1):
        letter, _, zero = KINDS[kind]
        cards += [(f"TFORM{number}", "1QB"), (f"TTYPE{number}", field), (f"ZFORM{number}", f"{n}{letter}")]
        cards += [(f"TZERO{number}", zero)] if zero is not None else []
        cards += [(f"ZCTYP{number}", "CTA"), (f"TPBID{number}", field_number)]
    data = index + heap
    return header(cards) + data + bytes(-len(data) % 2880)


PRIMARY = header([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0), ("EXTEND", True)])


def pulses(dice: Dice, n_pixels: int, n_samples: int, low: int = 200) -> list[list[int]]:
    """For each pixel a pedestal of its own and one pulse; no two pixels are alike."""
    found = []
    for pixel in range(n_pixels):
        row = [low + pixel % 97 + dice.whole(0, 9) for _ in range(n_samples)]
        row[dice.whole(0, n_samples - 1)] += dice.whole(0, 3000)
        found.append(row)
    return found


def flat(rows: Sequence[Sequence[int]]) -> list[int]:
    return [value for row in rows for value in row]


def by_module(gains: Sequence[Any]) -> list[Any]:
    """Turns [gain][event][pixel of all modules][sample] into [event][module][gain][pixel of the module][sample]."""
    return [
        [[gain[at : at + 7] for gain in event] for at in range(0, len(event[0]), 7)]
        for event in zip(*gains, strict=True)
    ]


def each(make: Callable[[int], Any], n: int) -> list[Any]:
    return [make(index) for index in range(n)]


def nectarcam() -> tuple[bytes, dict[str, Any]]:
    """A file as of 2018: three events of three modules; the second lacks its last; 16 bytes of counters a module."""
    dice, n, n_modules, n_samples, run = Dice(5), 3, 3, 16, 23
    present = [[1, 1, 1], [1, 1, 0], [1, 1, 1]]
    tags, times_ns = [1, 32, 4], each(lambda i: 1_521_466_000_123_456_700 + 1_000_065_590 * i, n)
    gains = [each(lambda i: pulses(dice, 7 * n_modules, n_samples), n) for _ in range(2)]
    for gain in gains:
        gain[1][14:] = [[0] * n_samples] * 7
    counters = [[struct.pack("<IHHIbb2x", i + 1, 10 + i, 1, 122_300_000 + 1000 * i + module, -4 + i, module)
                 for module in range(n_modules)] for i in range(n)]  # fmt: skip
    ucts = [struct.pack("<IIIQQBBB", i + 1, 10 + i, 9_785_000 + i, times_ns[i], 2**63, tags[i], 0, 0) for i in range(n)]
    tib = each(lambda i: struct.pack("<IHIBB", i + 1, 10 + i, 9_785_000 + i, 0, 8), n)
    about: list[Column] = [
        ("telescopeID", "i32", "1", [0]), ("runNumber", "u32", "2", [run]), ("dateMJD", "u32", "3", [58_196]),
        ("imgReducMode", "i32", "5", [0]), ("evtsReducMode", "i32", "6", [0]), ("numTraces", "i32", "7", [n_samples]),
        ("numGainChannels", "i32", "8", [2]), ("integWindowSize", "i32", "9", [n_samples]),
    ]  # fmt: skip
    events: list[Column] = [("eventType", "i32", "3", [1] * n), ("eventNumber", "u32", "4", each(lambda i: i + 1, n))]
    for name, number, gain in (("hiGain", "6", gains[0]), ("loGain", "7", gains[1])):
        events += [
            (f"{name}_waveforms_samples", "u16[]", f"{number}.1.1", [flat(event) for event in gain]),
            (f"{name}_waveforms_num_samples", "u32", f"{number}.1.4", [n_samples] * n),
            (f"{name}_integrals_gains", "u16[]", f"{number}.2.1", [[sum(row) for row in event] for event in gain]),
        ]
    words = [struct.unpack(f"<{8 * n_modules}H", b"".join(event)) for event in counters]
    events += [
        ("cameraCounters_counters", "u16[]", "14.1", words), ("moduleStatus_status", "u8[]", "15.1", present),
        ("pixelPresence_presence", "u32[]", "16.1", [[0]] * n), ("acquisitionMode", "i32", "17", [61_158] * n),
        ("uctsDataPresence", "bool", "18", [1] * n), ("uctsData_data", "u8[]", "19.1", ucts),
        ("tibDataPresence", "bool", "20", [1] * n), ("tibData_data", "u8[]", "21.1", tib),
        ("swatDataPresence", "bool", "22", [0] * n), ("swatData_data", "u8[]", "23.1", [bytes(27)] * n),
    ]  # fmt: skip
    content = PRIMARY + table("RunHeader", "DataModel.CameraRunHeader", about)
    content += table("Events", "DataModel.CameraEvent", events)
    return content, {
        "run_id": run, "boards": each(int, n_modules), "event_number": each(lambda i: i + 1, n),
        "timestamp_ns": times_ns, "present": present, "trigger_tag": tags, "waveform": by_module(gains),
        "counters": [[list(module) for module in event] for event in counters], "counters_kind": 2,
        "said": "3 events of 3 boards, 7 pixels, 2 gains, 16 samples",
    }  # fmt: skip


def lst() -> tuple[bytes, dict[str, Any]]:
    """A file as of 2018: two modules, the first dead; gains before modules. Event 2 comes last, by the TIB alone."""
    dice, n, n_samples = Dice(6), 3, 10
    numbers, tags, n_ns = [1, 3, 2], [32, 0, 4], [250_000_003, 750_000_001, 500_000_000]
    dead = [[0] * n_samples] * 7
    gains = [each(lambda i: dead + pulses(dice, 7, n_samples), n) for _ in range(2)]
    counters = [bytes(22) + struct.pack("<HIIIQ", 7, 40_000 + i, numbers[i], 2 * numbers[i], 2**40) for i in range(n)]
    cells = [[0] * 8 + each(lambda _: dice.whole(0, 4095), 8) for _ in range(n)]
    tib = [bytes(12), bytes(12), bytes(11) + b"\x04"]
    cdts = [bytes(28) + b"\x20" + bytes(2), bytes(31), bytes(31)]
    modules = [17, 4]
    about: list[Column] = [
        ("telescope_id", "u32", "1", [0]), ("cs_serial", "str", "2", ["FH04MD2"]),
        ("configuration_id", "u64", "3", [1]), ("date", "u64", "4", [1_524_841_361]), ("num_pixels", "u32", "5", [14]),
        ("num_samples", "u32", "6", [n_samples]),
        ("expected_pixels_id", "u16[]", "7", [each(int, 14)]), ("data_model_version", "str", "8", ["1.0"]),
        ("lstcam_idaq_version", "str", "10.1", ["31692"]), ("lstcam_cdhs_version", "str", "10.2", ["31692"]),
        ("lstcam_num_modules", "u32", "10.3", [2]), ("lstcam_expected_modules_id", "u16[]", "10.4", [modules]),
        ("lstcam_algorithms", "u32", "10.5", [0]), ("lstcam_pre_proc_algorithms", "u32", "10.6", [0]),
    ]  # fmt: skip
    waveforms = [flat(gains[0][i]) + flat(gains[1][i]) for i in range(n)]
    events: list[Column] = [
        ("configuration_id", "u64", "1", [1] * n), ("event_id", "u64", "2", numbers),
        ("tel_event_id", "u64", "3", numbers), ("trigger_time_s", "u32", "4", [1_524_841_400] * n),
        ("trigger_time_qns", "u32", "5", [4 * ns + 3 for ns in n_ns]),
        ("trigger_type", "u32", "6", [0] * n), ("waveform", "u16[]", "7", waveforms),
        ("pixel_status", "u8[]", "8", [[0] * 7 + [12] * 7] * n), ("ped_id", "u64", "9", [0] * n),
        ("lstcam_module_status", "u8[]", "11.1", [[0, 1]] * n),
        ("lstcam_extdevices_presence", "u32", "11.2", [2, 0, 1]),
        ("lstcam_tib_data", "u8[]", "11.3", tib), ("lstcam_cdts_data", "u8[]", "11.4", cdts),
        ("lstcam_swat_data", "u8[]", "11.5", [bytes(27)] * n), ("lstcam_counters", "u8[]", "11.6", counters),
        ("lstcam_chips_flags", "u16[]", "11.7", [[0] * 16] * n), ("lstcam_first_capacitor_id", "u16[]", "11.8", cells),
        ("lstcam_drs_tag_status", "u8[]", "11.9", [[0, 12]] * n), ("lstcam_drs_tag", "u16[]", "11.10", [[0] * 160] * n),
    ]  # fmt: skip
    content = PRIMARY + table("CameraConfig", "R1.CameraConfiguration", about)
    content += table("Events", "R1.CameraEvent", events)
    return content, {
        "run_id": 0, "boards": modules, "event_number": numbers,
        "timestamp_ns": [1_524_841_400 * 10**9 + ns for ns in n_ns], "present": [[0, 1]] * n, "trigger_tag": tags,
        "waveform": by_module(gains), "counters_kind": 4,
        "counters": [[list(event[:22]), list(event[22:])] for event in counters],
        "stored_cells": cells[0][8:], "first_cells": [[event[:8], event[8:]] for event in cells], "note": "",
    }  # fmt: skip


def digicam() -> tuple[bytes, dict[str, Any]]:
    """A file as of 2017: one gain, each pixel somewhere in the list, the second event a pedestal."""
    dice, n, n_pixels, n_samples = Dice(7), 2, 1296, 4
    order = dice.some(range(n_pixels), n_pixels)
    by_pixel = each(lambda i: pulses(dice, n_pixels, n_samples, low=20), n)
    stored = [flat([event[pixel] for pixel in order]) for event in by_pixel]
    numbers, seconds, nanoseconds = [97_750_287, 97_750_289], [1_509_415_494] * n, [999_999_996, 4]
    events: list[Column] = [
        ("telescopeID", "i32", "1", [1] * n), ("eventNumber", "u32", "4", numbers),
        ("hiGain_waveforms_samples", "i16[]", "6.1.1", stored),
        ("hiGain_waveforms_pixelsIndices", "u16[]", "6.1.2", [order] * n),
        ("hiGain_waveforms_baselines", "i16[]", "6.1.5", [[20 + pixel % 97 for pixel in order]] * n),
        ("local_time_nanosec", "u64", "30", nanoseconds), ("local_time_sec", "u64", "31", seconds),
        ("pixels_flags", "u16[]", "32", [[1] * n_pixels] * n), ("event_type", "u32", "34", [1, 8]),
        ("trigger_input_traces", "u8[]", "35", [[0] * 576 * n_samples] * n),
        ("trigger_output_patch7", "u8[]", "36", [[0] * 54 * n_samples] * n),
        ("trigger_output_patch19", "u8[]", "37", [[0] * 54 * n_samples] * n),
    ]  # fmt: skip
    return PRIMARY + table("Events", "DataModel.CameraEvent", events), {
        "run_id": 0, "boards": each(int, 108), "event_number": numbers, "by_pixel": by_pixel, "trigger_tag": [1, 32],
        "timestamp_ns": [s * 10**9 + ns for s, ns in zip(seconds, nanoseconds, strict=True)],
        "present": [[1] * 108] * n, "counters": [[[]] * 108] * n, "counters_kind": 0,
    }  # fmt: skip


def main(folder: Path) -> None:
    files: dict[str, bytes | str] = {}
    truth: dict[str, dict[str, Any]] = {}

    def add(name: str, made: tuple[bytes, dict[str, Any]]) -> None:
        files[name], truth[name] = made

    add("clb.dqd", clb_datagrams())
    add("IO_TSL1_1003.dat", l1_messages())
    events, one = "na62_run8548_events_hits.csv", "na62_2018E_one_event_hits.csv"
    files[events], files["na62_run8548_events_rings.csv"], truth[events] = na62_events()
    files[one], files["na62_rich_pmt_map.csv"], truth[one] = na62_one_event()
    truth["na62_rich_pmt_map.csv"] = {}
    add("example_9evts_NectarCAM.fits.fz", nectarcam())
    add("example_LST_R1_10_evts.fits.fz", lst())
    add("example_10evts.fits.fz", digicam())
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode("ascii"))
    (folder / "truth.json").write_text(json.dumps(truth))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
