# SPDX-License-Identifier: Apache-2.0
"""The nodes that an agent has started: they continue without it, and the next agent with its directory finds them."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from anello.catalogue.process import Process
from anello.control.agent.messages import MOST_NODES, NodeOrder, NodeReport
from anello.system.exit_codes import INTERRUPTED, OF_A_RUN

IN_ORDER = (*OF_A_RUN, INTERRUPTED)  # exit codes that depend on the run and not on the node's process
LAST_WORDS = 4000  # bytes at the end of its console output that are searched for a cause
RECORD = "node{node}.agent.json"
MOST_KEPT = 64  # most nodes reported that have ended
GRACE_S = 20.0  # from the end of a run to that of its last node: time for the node to notice it and to close its files


@dataclass(frozen=True)
class AgentPlace:
    """The agent's settings for this machine. control: the control room's host, as this machine knows it."""

    directory: Path  # where runs have their directories
    control: str
    keys: Path
    settings: Sequence[str] = ()  # each KEY=VALUE


class AgentNode:
    """A node's process. child: the process, if this agent has started it."""

    def __init__(self, run: str, node: int, folder: Path, process: Process,
                 child: "subprocess.Popen[bytes] | None") -> None:  # fmt: skip
        self.run, self.node, self.folder, self.process = run, node, folder, process
        self._child, self._was_killed = child, False
        self._pidfd = os.pidfd_open(process.number)

    @classmethod
    def start(cls, order: NodeOrder, place: AgentPlace) -> "AgentNode":
        """Starts a node. Raises OSError."""
        folder = place.directory / order.run
        folder.mkdir(parents=True, exist_ok=True)
        own = folder / f"node{order.node}.toml"
        own.write_text(order.configuration)
        settings = [f"run.directory={place.directory}", *place.settings]
        if order.of_chain:
            chain = folder / f"node{order.node}.chain.toml"
            chain.write_text(order.of_chain)
            settings.append(f"input.config={chain}")
        host = order.address or place.control
        arguments = [
            "exchange", str(own), *(part for setting in settings for part in ("--set", setting)),
            "--rendezvous", f"tcp://{host}:{order.port}", "--no-serve", "--rank", str(order.node),
            "--nodes", str(order.n_nodes), "--keys", str(place.keys), "--report-dir", str(folder),
            "--started-by", "a control room",
        ]  # fmt: skip
        with _console(folder, order.node).open("wb") as console:
            child = subprocess.Popen(
                [sys.executable, "-m", "anello", *arguments],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        process = Process.of(child.pid)
        record = {"run": order.run, "node": order.node, "process": asdict(process)}
        (folder / RECORD.format(node=order.node)).write_text(json.dumps(record) + "\n")
        return cls(order.run, order.node, folder, process, child)

    @classmethod
    def found(cls, record: Path) -> "AgentNode | None":
        """Finds a node that an earlier agent has started and that still runs."""
        try:
            values = json.loads(record.read_text())
            process, node = Process(**values["process"]), int(values["node"])
            if process.has_ended() or not 0 <= node < MOST_NODES:
                return None
            return cls(str(values["run"]), node, record.parent, process, None)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def report(self) -> NodeReport:
        end = select.poll()
        end.register(self._pidfd, select.POLLIN)
        if not end.poll(0):
            return NodeReport(self.run, self.node, self.process.number)
        code = self._child.poll() if self._child else None
        if code is None or code in IN_ORDER or self._was_killed:
            return NodeReport(self.run, self.node, self.process.number, "ended")
        why = f"killed by signal {-code}" if code < 0 else self._last_words() or f"it ended with exit code {code}"
        return NodeReport(self.run, self.node, self.process.number, "gone", why)

    def kill(self) -> None:
        self._was_killed = True
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        os.close(self._pidfd)

    def _last_words(self) -> str:
        with suppress(OSError), _console(self.folder, self.node).open("rb") as console:
            console.seek(max(0, os.fstat(console.fileno()).st_size - LAST_WORDS))
            lines = console.read().decode(errors="replace").strip().splitlines()
            return lines[-1].removeprefix("anello: ") if lines else ""
        return ""


class AgentNodes:
    """All nodes of an agent. Use as a context: the nodes continue when it is left."""

    def __init__(self, place: AgentPlace, clock: Callable[[], float] = time.monotonic) -> None:
        self._place, self._clock = place, clock
        self._end_by_s: dict[str, float] = {}  # by run: until then its nodes may end by themselves
        records = place.directory.glob(f"*/{RECORD.format(node='*')}")
        self._nodes = [node for record in sorted(records) if (node := AgentNode.found(record))]
        self._failed: list[NodeReport] = []  # nodes that could not be started

    def __enter__(self) -> "AgentNodes":
        return self

    def __exit__(self, *_: object) -> None:
        for node in self._nodes:
            node.close()

    def start(self, order: NodeOrder) -> str:
        """Starts a node and returns the result in words."""
        try:
            self._nodes.append(AgentNode.start(order, self._place))
        except OSError as error:
            why = f"it could not be started: {error.strerror or error}: {error.filename}"
            self._failed = [*self._failed, NodeReport(order.run, order.node, 0, "gone", why)][-MOST_KEPT:]
            return f"node {order.node} of {order.run}: {why}"
        return f"node {order.node} of {order.run} started, process {self._nodes[-1].process.number}"

    def end(self, run: str) -> None:
        """Marks a run as ended elsewhere; nodes that do not end by themselves in time are killed."""
        self._end_by_s.setdefault(run, self._clock() + GRACE_S)

    def reports(self) -> list[NodeReport]:
        """The states of all nodes, except the oldest of those that have ended."""
        for run, end_s in list(self._end_by_s.items()):
            if self._clock() >= end_s:
                del self._end_by_s[run]
                self._kill(run)
        reports = [(node, node.report()) for node in self._nodes]
        for node, _ in [(node, words) for node, words in reports if words.state][:-MOST_KEPT]:
            node.close()
            self._nodes.remove(node)
        return [*self._failed, *(words for _, words in reports)]

    def _kill(self, run: str) -> None:
        for node in self._nodes:
            if node.run == run:
                node.kill()


def _console(folder: Path, node: int) -> Path:
    return folder / f"node{node}.console.log"
