# SPDX-License-Identifier: Apache-2.0
"""Files of multi-event packets, also those whose writer was killed."""

import struct
from pathlib import Path

import pytest

from anello.errors import InputError
from anello.mep_file import RECORD_HEADER, MepRecord, records

HEADER = struct.pack("<8s3I12x", b"MEPFILE1", 3, 5, 9)
MFPS = [b"one", b"", b"a third, longer"]


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 8)


def record(mep: int) -> bytes:
    """A record by docs/reference/mep-file.md; readers need no checksum."""
    lengths = padded(struct.pack("<3I", *map(len, MFPS)))
    content = lengths + b"".join(map(padded, MFPS))
    length_bytes = RECORD_HEADER.size + len(content)
    return RECORD_HEADER.pack(b"MPR1", 3, 1, mep, mep * 5, 77, length_bytes, 0, 5) + content


def test_records_come_back_from_all_files_of_a_series(tmp_path: Path) -> None:
    (tmp_path / "events.raw").write_bytes(HEADER + record(0) + record(1))
    (tmp_path / "events-0001.raw").write_bytes(HEADER + record(2))
    assert list(records(tmp_path / "events.raw")) == [MepRecord(mep, mep * 5, 5, 1, 77, MFPS) for mep in range(3)]


def test_a_record_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    whole, path = HEADER + record(0) + record(1), tmp_path / "events.raw"
    for n_bytes in range(len(HEADER) + len(record(0)), len(whole)):
        path.write_bytes(whole[:n_bytes])
        assert [one.mep for one in records(path)] == [0], n_bytes


@pytest.mark.parametrize("content", [b"", b"MEPFILE2" + bytes(24), HEADER + bytes(48)])
def test_what_is_no_such_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "events.raw").write_bytes(content)
    with pytest.raises(InputError, match=r"events\.raw"):
        list(records(tmp_path / "events.raw"))
