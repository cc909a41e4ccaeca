# SPDX-License-Identifier: Apache-2.0
"""Runs a capture through the card's Verilated sources: the card's result for each frame, and the cycles it took."""

import json
import os
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anello.errors import InputError
from anello.nanet import registers
from anello.nanet.card import CardSources
from anello.nanet.stages import CLOCK_HZ
from anello.nanet.tools import ToolError, Tools

MAX_STREAMS = 14
N_BOARDS = 4  # of a card that merges fragments
SPENT = ("records_written", "records_dropped", "records_too_long")  # each accepted frame is counted in one of these
ACCEPTED = "frames_accepted"
# checks that end with the frame's last beat
CHECKED_LATE = ("frames_bad_fcs", "frames_truncated", "frames_bad_udp_checksum")
NO_USE = 3  # exit code of the program: the capture cannot be used


@dataclass(frozen=True)
class CardRun:
    """The output of the program. counts: of the card, by name without `count.`."""

    said: Mapping[str, Any]
    counts: Mapping[str, int]
    ports: tuple[int, ...]
    merges: bool
    cuts_through: bool = False

    @property
    def frames(self) -> dict[str, int]:
        """The verdicts on the frames, one for each frame."""
        return {name: n for name, n in self.counts.items() if name.startswith("frames_")}

    @property
    def problems(self) -> list[str]:
        """Sums that do not agree: then the card, its model, or this program is wrong. Empty: all agree."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        said, counts = self.said, self.counts
        if (n := sum(self.frames.values())) != said["frames"]:
            yield f"{said['frames']} frames went in, and {n} have a verdict"
        if not said["is_idle"]:
            yield "the card has not written all that it took"
        if said["wrong_records"]:
            yield f"{said['wrong_records']} records are not what their frames carried"
        if self.merges:
            yield from self._problems_of_merging()
        elif not self._went_on(n := sum(counts[name] for name in SPENT)):
            yield f"{counts[ACCEPTED]} frames were accepted, and {n} records are written, dropped or too long"
        elif said["records"] != counts["records_written"]:
            yield f"{counts['records_written']} records were written, and the host found {said['records']}"

    def _went_on(self, n: int) -> bool:
        """True if n payloads can be right: one for each accepted frame, and with cut-through also for some frames
        whose last check failed too late."""
        accepted = self.counts[ACCEPTED]
        n_late = sum(self.counts[name] for name in CHECKED_LATE) if self.cuts_through else 0
        return accepted <= n <= accepted + n_late

    def _problems_of_merging(self) -> Iterator[str]:
        """Differences between merged events and the software's. Where the card had no room, the software received
        more, and events are not compared."""
        counts = self.counts
        read = sum(n for name, n in counts.items() if name.startswith("datagrams_"))
        if not self._went_on(read):
            yield f"{counts[ACCEPTED]} frames were accepted, and the merger has read {read} datagrams"
        lost = self.said["frames"] - counts[ACCEPTED] + counts["packets_dropped"] + counts["records_dropped"]
        if not lost and self.said["differing_events"]:
            yield f"{self.said['differing_events']} events differ from the software's"

    def as_dict(self) -> dict[str, Any]:
        return {
            **self.said,
            "count": dict(self.counts),
            "ports": self.ports,
            "merge": self.merges,
            "cut_through": self.cuts_through,
            "clock_hz": CLOCK_HZ,
            "problems": self.problems,
        }


def simulate(
    card: CardSources,
    tools: Tools,
    file: Path,
    ports: Sequence[int],
    *,
    merge: bool,
    cut_through: bool,
    paced: bool,
    n_frames: int | None = None,
    n_traced: int = 0,
) -> CardRun:
    """Simulates the card. n_frames: use only the first ones. n_traced: cycles for which the program records the ports.

    Raises InputError where the capture cannot be used, ToolError.
    """
    if not 1 <= len(ports) <= MAX_STREAMS:
        raise InputError(
            f"{file}: {len(ports)} ports; the model has room for 1 to {MAX_STREAMS}: name them with --ports"
        )
    if merge and len(ports) != N_BOARDS:
        raise InputError(
            f"{file}: {len(ports)} ports; a card that merges has {N_BOARDS} boards: name theirs with --ports"
        )
    options = {"--merge": merge, "--cut-through": cut_through, "--paced": paced}
    words = [str(file), "--ports", ",".join(map(str, ports)), *(word for word, wanted in options.items() if wanted)]
    words += ["--trace", str(n_traced)] if n_traced else []
    words += ["--frames", str(n_frames)] if n_frames is not None else []
    done = subprocess.run([str(program(card, tools)), *words], capture_output=True, text=True, check=False)
    if done.returncode == NO_USE:
        raise InputError(f"{file}: {done.stderr.strip()}")
    if done.returncode:
        raise ToolError(f"the model of the card stopped: {(done.stderr or done.stdout).strip()[-500:]}")
    said = json.loads(done.stdout)
    counts = {_name(address): n for address, n in said.pop("count").items()}
    return CardRun(said, counts, tuple(ports), merge, cut_through)


def _name(address: str) -> str:
    """The name of a counter, from its address."""
    return _COUNTERS[int(address)]


_COUNTERS = {
    one.address: one.name.removeprefix("count.") for one in registers.REGISTERS if one.name.startswith("count.")
}


def program(card: CardSources, tools: Tools) -> Path:
    """The simulation program; it is compiled if necessary. Raises InputError, ToolError."""
    root = card.rtl.parent
    build = Path(os.environ.get("ANELLO_BUILD", root / "build/release"))
    if not (build / "engine/wire/libanello_wire.a").exists():
        raise InputError(f"{build}: the engine's libraries are not there; ./dev setup builds them")
    model = card.rtl / "model"
    words = [str(model / "build_model.py"), "--top", "nanet_io", str(model / "nanet_simulate.cpp")]
    return Path(tools.run("python", words, card.build / "model.log").strip().splitlines()[-1])


def library(card: CardSources, tools: Tools) -> Path:
    """The shared library that the engine loads, compiled from the card's present sources. Raises ToolError."""
    words = [str(card.rtl / "model/build_model.py"), "--library", str(card.library)]
    return Path(tools.run("python", words, card.build / "library.log").strip().splitlines()[-1])


# --- Captures -----------------------------------------------------------------------------------------------------
_MAGIC = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
_AT_UDP = 14 + 20


def ports_in(file: Path) -> list[int]:
    """UDP ports of the plain frames in a pcap file, in rising order. Raises InputError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from error
    order = _MAGIC.get(content[:4])
    if order is None:
        raise InputError(f"{file}: no pcap file; name its ports with --ports where it is a pcapng file")
    found: Counter[int] = Counter()
    at = 24
    while at + 16 <= len(content):
        n_bytes = struct.unpack_from(f"{order}I", content, at + 8)[0]
        frame = content[at + 16 : at + 16 + n_bytes]
        if frame[12:15] == b"\x08\x00\x45" and frame[23:24] == b"\x11" and len(frame) >= _AT_UDP + 8:
            found[int.from_bytes(frame[_AT_UDP + 2 : _AT_UDP + 4], "big")] += 1
        at += 16 + n_bytes
    return sorted(found)
