# SPDX-License-Identifier: Apache-2.0
"""R1v1 files during a run: starts and leads the processes that write them, one for each stream (r1_writer.py).

The node distributes its events to the writers over stream sockets that only it and they have. The writers end, and
close their files, when those sockets close, even if this process died.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from anello.account.notices import Line

from ..configuration.sections import CameraSendSection
from ..engine import Node
from . import r1v1
from .r1_writer import Counts, WriterOrder

READY_S = 60.0  # its packages take a second or two to import
KEEPING_MEMORY = {  # of glibc: otherwise each event's arrays are given to the system and faulted in again
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
ROOM_BYTES = 4 << 20  # buffer between node and writer; the kernel may give less
END_S = 60.0  # time for a writer to write the events that it was sent


class R1Files:
    """The writers of a run that is about to begin. Raises ConfigError, OSError."""

    def __init__(self, send: CameraSendSection, directory: Path, *, camera: str, run: int) -> None:
        self.n_streams = send.r1_streams
        r1v1.protozfits_of("camera_send.r1_streams", str(self.n_streams))
        folder = directory / send.r1_folder
        folder.mkdir(parents=True, exist_ok=True)
        begun_s = int(time.time())
        orders = [
            WriterOrder(
                0,
                0,
                camera,
                run,
                send.r1_telescope,
                str(folder),
                number,
                self.n_streams,
                send.r1_file_s,
                send.max_file_bytes,
                send.r1_model,
                begun_s,
                send.r1_pe_per_count,
            )
            for number in range(1, self.n_streams + 1)
        ]
        self.writers = [WriterProcess(order) for order in orders]
        try:
            for writer in self.writers:
                writer.wait_ready()
        except BaseException:
            self.give_up()
            raise

    @property
    def connections(self) -> list[int]:
        """Sockets for the node, which duplicates the descriptors."""
        return [writer.connection.fileno() for writer in self.writers]

    def hand_over(self) -> None:
        """Closes this process's sockets: the node has its own now."""
        for writer in self.writers:
            writer.connection.close()

    def give_up(self) -> None:
        for writer in self.writers:
            writer.give_up()


class WriterProcess:
    """A writer's process, seen from this one. It may be killed at any time: once it is ready, no method raises because
    of that."""

    def __init__(self, order: WriterOrder) -> None:
        self.number, self._order = order.number, order
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM_BYTES)
        self._report, report = os.pipe()
        os.set_blocking(self._report, False)
        order_json = json.dumps(asdict(order) | {"connection": theirs.fileno(), "report": report})
        command = [sys.executable, "-m", f"{__package__}.r1_writer", order_json]
        # A session of its own: Ctrl-C reaches the leader only, which then ends the stream in good order.
        self._child = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(), report),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=KEEPING_MEMORY | os.environ,
        )
        theirs.close()
        os.close(report)
        self.counts: dict[str, int] = asdict(Counts())
        self.state, self.error = "", ""
        self._heard = b""
        self._news: list[str] = []

    @property
    def process(self) -> int:
        return self._child.pid

    @property
    def has_died(self) -> bool:
        return self.state != "done" and self._child.poll() is not None

    def wait_ready(self) -> None:
        """Waits until the writer is ready. Raises OSError if it fails."""
        deadline_s = time.monotonic() + READY_S
        while self.state != "ready":
            has_ended = self._child.poll() is not None
            self.listen()
            if self.state == "failed" or has_ended or time.monotonic() > deadline_s:
                raise OSError(f"the writer of R1v1 files {self.number} cannot begin: {self.error or self._how_it_died}")
            time.sleep(0.01)

    def listen(self) -> None:
        if self._report < 0:
            return
        with suppress(BlockingIOError):
            while more := os.read(self._report, 1 << 16):
                self._heard += more
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            self._hear(json.loads(line))

    def _hear(self, message: Mapping[str, Any]) -> None:
        self.state = message.get("state", self.state)
        self.counts |= message.get("counters", {})
        if (error := message.get("error", "")) and error != self.error:
            self.error = error
            if self.state != "failed":
                self._news.append(f"R1v1 files, stream {self.number}: {error}; events are lost until it can be written")

    def take_news(self) -> list[str]:
        """Messages for the operator since the last call."""
        has_died = self.has_died  # checked before its last report is read
        self.listen()
        news, self._news = self._news, []
        if has_died and self.state not in ("dead", "done"):
            why = self.error if self.state == "failed" else self._how_it_died
            news.append(f"the writer of R1v1 files, stream {self.number}, died: {why}; others take its events")
            self.state = "dead"
        return news

    @property
    def _how_it_died(self) -> str:
        code = self._child.poll()
        if code is None:
            return f"it said nothing for {READY_S:g} s"
        return signal.strsignal(-code) or f"signal {-code}" if code < 0 else f"exit code {code}"

    def end(self, n_sent: int) -> None:
        """Waits for the writer after the end of its stream. n_sent: events that the kernel took for it."""
        try:
            self._child.wait(END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._news += self.take_news()
        os.close(self._report)
        self._report = -1
        if self.state != "done":
            self._settle(n_sent)

    def _settle(self, n_sent: int) -> None:
        """Counts after the writer died: events in complete files are not lost, even if it had not reported them."""
        counts = self.counts
        while (path := self._order.path(counts["files_written"])).exists():
            counts["files_written"] += 1
            counts["bytes_written"] += path.stat().st_size
            counts["events_written"] += r1v1.n_events_in(path)
        settled = counts["events_written"] + counts["events_refused"] + counts["events_lost"]
        counts["events_in"] = max(counts["events_in"], settled)
        counts["events_never_taken"] = n_sent - counts["events_in"]
        counts["events_lost_with_writer"] = counts["events_in"] - settled
        counts["died"] = 1

    def give_up(self) -> None:
        self.connection.close()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(1.0)
        self._child.kill()
        self._child.wait()
        os.close(self._report)
        self._report = -1


class WritingNode:
    """A node, and the writers of R1v1 files to which it sends: their counters are in its page."""

    def __init__(self, node: Node, files: R1Files) -> None:
        self._node, self._files = node, files
        self._has_ended = False

    def __getattr__(self, name: str) -> Any:
        """All other attributes are the node's."""
        return getattr(self._node, name)

    def counters(self) -> Any:
        self._look()
        return self._node.counters()

    def notices(self) -> Sequence[Line]:
        news = [line for writer in self._files.writers for line in writer.take_news()]
        return [*self._node.notices(), *((line, "bad") for line in news)]

    def stop(self) -> None:
        """Stops node and writers: then all sent events are in files."""
        self._node.stop()
        if self._has_ended:
            return
        self._has_ended = True
        counters = self._node.counters()
        for i, writer in enumerate(self._files.writers):
            writer.end(counters[f"r1_stream{i}"]["events_sent"])
        self._look()

    def _look(self) -> None:
        for i, writer in enumerate(self._files.writers):
            writer.listen()
            self._node.set_r1_writer(i, writer.counts)


def with_files(node: Node, files: R1Files) -> Node:
    files.hand_over()
    return cast("Node", WritingNode(node, files))
