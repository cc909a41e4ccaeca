# SPDX-License-Identifier: Apache-2.0
"""Built events that an exchange has stored (docs/reference/mep-file.md)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anello.errors import InputError
from anello.system.run_directory import series

FILE_HEADER, RECORD_HEADER = struct.Struct("<8s3I12x"), struct.Struct("<4sHHQQqQII")
ALIGNMENT_BYTES = 8


@dataclass(frozen=True)
class MepRecord:
    """A multi-event packet. mfps: by readout unit; empty where a unit delivered none. built_ns: wall clock."""

    mep: int
    first_event: int
    n_events: int
    n_missing: int
    built_ns: int
    mfps: list[bytes]


def records(path: Path | str) -> Iterator[MepRecord]:
    """Records of a file and of those that follow it (-0001 ...). A record that a killed writer did not finish is left
    out.

    Raises OSError, InputError where it is no such file.
    """
    for part in series(Path(path)) or [Path(path)]:
        with part.open("rb") as file:
            if file.read(FILE_HEADER.size)[:8] != b"MEPFILE1":
                raise InputError(f"{part}: is no file of multi-event packets")
            while record := _next(file, part):
                yield record


def _next(file: BinaryIO, path: Path) -> MepRecord | None:
    head = file.read(RECORD_HEADER.size)
    if len(head) < RECORD_HEADER.size:
        return None
    magic, n_readouts, n_missing, mep, first_event, built_ns, length_bytes, _, n_events = RECORD_HEADER.unpack(head)
    if magic != b"MPR1" or length_bytes < RECORD_HEADER.size + 4 * n_readouts:
        raise InputError(f"{path}: no record begins at byte {file.tell() - len(head)}")
    rest = file.read(length_bytes - len(head))
    if len(rest) < length_bytes - len(head):
        return None
    return MepRecord(mep, first_event, n_events, n_missing, built_ns, _mfps(rest, n_readouts))


def _mfps(content: bytes, n_readouts: int) -> list[bytes]:
    """The MFPs of a record. content: the record after its header: lengths, then MFPs, each padded."""
    at, mfps = _aligned(4 * n_readouts), []
    for length in struct.unpack_from(f"<{n_readouts}I", content):
        mfps.append(content[at : at + length])
        at += _aligned(length)
    return mfps


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
