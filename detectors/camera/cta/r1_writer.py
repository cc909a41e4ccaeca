# SPDX-License-Identifier: Apache-2.0
"""A process that writes R1v1 files during a run: `python -m anello.camera.cta.r1_writer ORDER`.

Events come over a stream socket as records (docs/reference/camera-record.md), each after its length; at the end of the
stream the process closes its file and ends. It reports its progress in JSON lines: {"state": "ready"}, then
{"counters": {...}} at intervals, {"state": "done"} at the end, {"state": "failed", "error": ...} if it cannot continue.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anello.errors import InputError, in_words

from .. import events
from . import cameras, dl0v1, r1v1

GIVES_WAY = 10  # nice value, so that threads that take data come first
REPORT_S = 0.25
MOST_EVENTS = 5000  # tiles of a file: each file begins with an index of this size
RETRY_S = 1.0  # pause after a file could not be written


@dataclass(frozen=True)
class WriterOrder:
    """connection, report: descriptors that the process has inherited."""

    connection: int
    report: int
    camera: str
    run: int
    telescope: int
    folder: str
    number: int
    streams: int
    file_s: float
    max_bytes: int
    model: str = "R1v1"
    begun_s: int = 0
    pe_per_count: float = 0.0

    @property
    def stream(self) -> r1v1.FileSequence:
        return r1v1.FileSequence(self._place, self._messages, r1v1.Limits(MOST_EVENTS, self.max_bytes, self.file_s))

    def path(self, part: int) -> Path:
        return self._place.path(self._messages, part)

    @property
    def _place(self) -> r1v1.FilePlace:
        return r1v1.FilePlace(Path(self.folder), self.number, self.streams)

    @property
    def _messages(self) -> r1v1.Messages:
        return dl0v1.messages(
            self.model,
            cameras.camera(self.camera),
            self.run,
            self.telescope,
            begun_s=self.begun_s,
            pe_per_count=self.pe_per_count,
        )


@dataclass
class Counts:
    """The counters of the block r1_writer<i>, with their names."""

    events_in: int = 0
    events_written: int = 0
    events_refused: int = 0
    events_lost: int = 0
    boards_left_out: int = 0
    files_written: int = 0
    bytes_written: int = 0


class FileWriter:
    """Writes the events of one stream to files and counts each once. Times are monotonic, except in seconds_left()."""

    def __init__(self, stream: r1v1.FileSequence) -> None:
        self.counts, self.error = Counts(), ""  # the error of the last file that could not be written
        self._stream, self._next_try_s = stream, 0.0

    def take(self, record: bytes, now_s: float) -> None:
        self.counts.events_in += 1
        if now_s < self._next_try_s:
            self.counts.events_lost += 1
            return
        try:
            self._stream.write(events.decode(record))
        except ValueError as error:
            self._refuse(error, now_s)
        except (OSError, RuntimeError) as error:
            self.counts.events_lost += 1
            self._lose(error, now_s)
        self._look()

    def end_file(self, now_s: float) -> None:
        try:
            self._stream.end_file()
        except (OSError, RuntimeError, InputError) as error:
            self._lose(error, now_s)
        self._look()

    def seconds_left(self, wall_s: float) -> float | None:
        """See Stream.seconds_left()."""
        return self._stream.seconds_left(wall_s)

    def _refuse(self, error: ValueError, now_s: float) -> None:
        """InputError, which is one too, is about the file."""
        if isinstance(error, InputError):
            self.counts.events_lost += 1
            self._lose(error, now_s)
        else:
            self.counts.events_refused += 1

    def _lose(self, error: Exception, now_s: float) -> None:
        self.error, self._next_try_s = in_words(error), now_s + RETRY_S
        self.counts.events_lost += self._stream.give_up_file()

    def _look(self) -> None:
        counts, files = self.counts, self._stream.files
        counts.events_written, counts.boards_left_out = self._stream.n_written, self._stream.messages.n_left_out
        counts.bytes_written += sum(path.stat().st_size for path in files[counts.files_written :])
        counts.files_written = len(files)


class Report:
    """Reports to the process that leads this one, which may have ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._next_s, self._n_files = descriptor, 0.0, 0
        os.set_blocking(descriptor, False)  # nobody waits for a leader that does not listen

    def say(self, **message: Any) -> None:
        with suppress(OSError):
            os.write(self._descriptor, json.dumps(message).encode() + b"\n")

    def update(self, writer: FileWriter, now_s: float, *, at_once: bool = False) -> None:
        """Reports the counters at intervals, and when a file is complete."""
        n_files = writer.counts.files_written
        if at_once or now_s >= self._next_s or n_files > self._n_files:
            self._next_s, self._n_files = now_s + REPORT_S, n_files
            self.say(counters=asdict(writer.counts), error=writer.error)


def write_all(connection: socket.socket, writer: FileWriter, report: Report) -> None:
    """Writes events until the stream ends; then it ends the last file, too."""
    while True:
        left_s = writer.seconds_left(time.time())
        wait_s = REPORT_S if left_s is None else min(left_s, REPORT_S)
        if select.select([connection], [], [], wait_s)[0]:
            record = events.read_record(connection)
            if record is None:
                break
            writer.take(record, time.monotonic())
        elif left_s is not None and left_s <= wait_s:
            writer.end_file(time.monotonic())
        report.update(writer, time.monotonic())
    writer.end_file(time.monotonic())
    report.update(writer, time.monotonic(), at_once=True)


def main(order: WriterOrder) -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM):  # the stream's end is ours: its leader decides about it
        signal.signal(ignored, signal.SIG_IGN)
    os.nice(GIVES_WAY)
    report = Report(order.report)
    try:
        writer = FileWriter(order.stream)
        r1v1.protozfits_of("camera_send.r1_streams", str(order.streams))
        with socket.socket(fileno=order.connection) as connection:
            report.say(state="ready")
            write_all(connection, writer, report)
    except Exception as error:  # any error: it is reported, and the run continues
        report.say(state="failed", error=in_words(error))
        sys.exit(1)
    report.say(state="done")


if __name__ == "__main__":
    main(WriterOrder(**json.loads(sys.argv[1])))
