# SPDX-License-Identifier: Apache-2.0
"""A control room without processes: an operator that walks through the table of states, a catalogue in memory, and
pages of counters as a RICH node has them."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from anello.configuration.load import load
from anello.control.operator import NotDoneError, Status
from anello.control.states import State, Step, after
from anello.control.web.memory import NotThereError, Row, Wanted
from anello.counters.page_copy import PageCopy
from anello.counters.pages import Buffers, Header, Thread

ROOT = Path(__file__).resolve().parents[2]
RICH = ROOT / "detectors/rich/na62-rich.toml"
SECOND = 1_000_000_000


class FakeOperator:
    """fails: the order that fails the next time."""

    def __init__(self, state: State = State.OFFLINE) -> None:
        self.state, self.run, self.fails = state, 41, ""
        self.file, self.settings = (str(RICH), ()) if state is not State.OFFLINE else ("", ())
        self.orders: list[str] = []
        self.cause = ""

    def status(self) -> Status:
        runs = self.state in (State.READY, State.RUNNING, State.DRAINING)
        return Status(
            self.state, 1_700_000_000 * SECOND, self.cause, config_file=self.file, config_digest="c0ffee00" * 8,
            settings=self.settings, chain="rich", run=self.run, name="na62-rich", directory=str(ROOT),
            node_page="anello.node.1" if runs else "", source_page="anello.source.2" if runs else "",
        )  # fmt: skip

    def _go(self, step: Step) -> None:
        self.state = after(self.state, step)
        self.orders.append(step)
        if self.fails == step:
            self.fails, self.state, self.cause = "", State.ERROR, "the port 6666 is in use: end the other program"
            raise NotDoneError(self.cause)

    def configure(self, config_file: Path, settings: Sequence[str] = ()) -> None:
        after(self.state, Step.CONFIGURE)
        load(config_file, settings)
        self.file, self.settings = str(config_file), tuple(settings)
        self._go(Step.CONFIGURE)

    def arm(self) -> None:
        self._go(Step.ARM)
        self.run += 1

    def start(self) -> None:
        self._go(Step.START)

    def stop(self) -> None:
        self._go(Step.STOP)
        self._go(Step.END)

    def abort(self) -> None:
        self._go(Step.ABORT)

    def reset(self) -> None:
        self._go(Step.RESET)
        self.cause = ""


class FakeMemory:
    """Two runs, an alarm, a log."""

    def __init__(self, directory: Path = Path()) -> None:
        self.rows: list[dict[str, Any]] = [self._run(number, directory) for number in (41, 40)]
        self.raised: list[dict[str, Any]] = [self._alarm(7)]
        self.entries: list[dict[str, Any]] = []
        self.new: dict[str, list[Row]] = {}

    @staticmethod
    def _run(number: int, directory: Path) -> dict[str, Any]:
        return {
            "number": number, "name": "na62-rich", "chain": "rich", "state": "ended", "quality": "unknown",
            "started_ns": 1_700_000_000 * SECOND, "ended_ns": 1_700_000_018 * SECOND, "operator": "shift",
            "host": "daq1", "version": "0.1.0", "commit_sha": "7a5e6ce", "config": "c0ffee00", "events": 1_201_241,
            "lost": 0, "bytes": 1 << 30, "seconds": 18.0, "rate_hz": 66_735.6, "p50_ns": 181e3, "p999_ns": 913e3,
            "balanced": True, "verdict": "good: all data was delivered", "word": "good", "comment": "", "notices": 0,
            "directory": str(directory), "exit_code": 0, "command": "anello run",
        }  # fmt: skip

    @staticmethod
    def _alarm(number: int) -> dict[str, Any]:
        return {"id": number, "rule": "board silent", "run": 41, "text": "board 2 has sent nothing for 1 s",
                "severity": "critical", "raised_ns": 1_700_000_010 * SECOND, "cleared_ns": None, "acked_by": None,
                "acked_ns": None}  # fmt: skip

    def runs(self, wanted: Wanted) -> Sequence[Row]:
        fits = [row for row in self.rows if wanted.quality in (None, row["quality"])]
        return [row for row in fits if wanted.before is None or row["number"] < wanted.before][: wanted.limit]

    def run(self, number: int) -> Row:
        for row in self.rows:
            if row["number"] == number:
                return row | {
                    "losses": [], "latency": {}, "files": [{"path": "decisions.h5", "bytes": 7, "sha256": "00",
                    "closed_ns": 0}], "counters": {"node": {"trigger": {"events": 1}}}, "notices": [],
                    "configuration": {"digest": "c0ffee00", "toml": "[run]\n"}, "log": [],
                }  # fmt: skip
        raise NotThereError(f"there is no run {number}")

    def compare(self, first: int, second: int) -> Row:
        return {"runs": [self.run(first), self.run(second)], "configuration": [], "rates": [], "latency": {},
                "losses": [], "quality": [], "verdict": [], "n_beyond": 0}  # fmt: skip

    def mark(self, number: int, quality: str, comment: str, author: str) -> None:
        self.run(number)
        for row in self.rows:
            if row["number"] == number:
                row |= {"quality": quality, "comment": comment}

    def configurations(self) -> Sequence[Row]:
        return [{"digest": "c0ffee00", "chain": "rich", "author": "shift", "at_ns": 0, "runs": 2, "parent": None}]

    def configuration(self, digest: str) -> Row:
        if digest != "c0ffee00":
            raise NotThereError(f"there is no configuration {digest}")
        return {"digest": digest, "chain": "rich", "toml": "[run]\n", "values": {}, "parent": None}

    def history(self, metric: str, from_ns: int, to_ns: int, step_s: float) -> Sequence[tuple[int, float]]:
        return [(SECOND, 1.0)] if from_ns <= SECOND <= to_ns else []

    def notices(self, limit: int) -> Sequence[Row]:
        return []

    def alarms(self, limit: int) -> Sequence[Row]:
        return self.raised[:limit]

    def acknowledge(self, alarm: int, author: str) -> None:
        for row in self.raised:
            if row["id"] == alarm:
                row |= {"acked_by": author, "acked_ns": 1}
                self.new.setdefault("alarm", []).append(row)
                return
        raise NotThereError(f"there is no alarm {alarm}")

    def log(self, limit: int, run: int | None) -> Sequence[Row]:
        return [row for row in reversed(self.entries) if run in (None, row["run"])][:limit]

    def write(self, text: str, author: str, run: int | None) -> None:
        self.entries.append({"id": len(self.entries) + 1, "run": run, "t_ns": 1, "author": author, "text": text})
        self.new.setdefault("log", []).append(self.entries[-1])

    def news(self) -> Mapping[str, Sequence[Row]]:
        new, self.new = self.new, {}
        return new


def node_counters(n_events: int, n_lost: int = 0, silent: Collection[int] = ()) -> dict[str, dict[str, int]]:
    """Four boards, one fragment per packet, n_lost of them at the last board dropped for want of a buffer."""
    boards = {
        f"receive.board{board}": {
            "packets": n_events, "fragments": n_events - (n_lost if board == 3 else 0), "hits": 5 * n_events,
            "bytes": 100 * n_events, "dropped_packets": n_lost if board == 3 else 0, "bursts_ended": 0,
        }
        for board in range(4)
    }  # fmt: skip
    rings = {"events_with_0_rings": n_events // 4, "events_with_1_ring": n_events - n_events // 4}
    return {
        **boards,
        **{f"build.board{board}": {"state": int(board in silent), "missing": n_lost if board == 3 else 0}
           for board in range(4)},
        "build": {"fragments_in": 4 * n_events - n_lost, "fragments_merged": 4 * n_events - n_lost,
                  "events_built": n_events, "events_complete": n_events - n_lost, "events_incomplete": n_lost},
        "trigger": {"events": n_events, "events_in_full": n_events, **rings},
        "store": {"events_seen": n_events, "events_stored": n_events},
    }  # fmt: skip


def latency(n: int, p999_ns: int) -> dict[str, Any]:
    """Latencies measured in one window."""
    bins = [0, 100_000, 500_000, 1_000_000, 5_000_000]
    return {"count": n, "mean_ns": 200_000, "bins_ns": bins, "bin_counts": [n // 2, n - n // 2 - 2, 2, 0],
            "p50_ns": 180_000, "p99_ns": 400_000, "p999_ns": p999_ns, "max_ns": 1_200_000, "above_1ms": 2}  # fmt: skip


class FakePages:
    """Counts on with its clock, at 100 kHz."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * SECOND
        self.begin_ns, self.n_lost, self.p999_ns = self.now_ns, 0, 913_000
        self.silent: set[int] = set()  # boards

    def clock(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND)

    def copy(self, name: str) -> PageCopy:
        n = (self.now_ns - self.begin_ns) // 10_000
        header = Header(
            1, True, self.begin_ns, 42, "na62-rich", "rich", "running", "c0ffee00", self.now_ns, self.now_ns
        )
        if "source" in name:
            return PageCopy(name, header, {"source": {"events": n}})
        window = latency(n or 4, self.p999_ns)
        return PageCopy(
            name, header, node_counters(n, self.n_lost, self.silent),
            {"sent_to_decided": {"run": window, "10s": window, "1s": window}},
            (Thread("lane", True, self.now_ns, 0.4, 0.4, 80_000, 80_000),),
            (Buffers("receive.stream0", 512, 384), Buffers("build", 512, 500)),
        )  # fmt: skip
