# SPDX-License-Identifier: Apache-2.0
"""Progress of a run of the camera chain."""

from collections.abc import Iterator

from anello.account.ledger import total
from anello.account.record import CounterDict
from anello.report.summary import in_percent
from anello.run.chain import Look, Meter
from anello.run.display import Item

from ..account.boards import silent_boards, slow_boards
from .summary import named, share


class CameraMeter(Meter):
    """Events, bytes in, bytes out."""

    def __init__(self, n_events: int) -> None:
        super().__init__()
        self._n_events = n_events

    def _sums(self, counters: CounterDict) -> tuple[int, ...]:
        events = counters.get("join", {}).get("events_out", 0)
        return events, total(counters, "receive.port", "bytes"), counters.get("compress", {}).get("bytes_out", 0)

    def _items(self, look: Look) -> Iterator[Item]:
        counters, (events, n_bytes, n_bytes_out) = look.counters, look.gained
        yield Item("time", f"{look.time_s:.1f} s")
        yield Item("in", f"{n_bytes * 8e-9 / look.seconds:.2f} Gb/s")
        incomplete = counters.get("join", {}).get("events_incomplete", 0)
        complete = in_percent(share(counters, "join", "events_complete", "events_out"))
        of = f" of {self._n_events:,}" if self._n_events else ""
        rate = f"now {events / look.seconds:,.0f} /s"
        yield Item("built", f"{look.sums[0]:,}{of}, {rate}, {complete} complete", incomplete > 0)
        kept = in_percent(share(counters, "filter", "events_kept", "events_in"))
        yield Item("kept", f"{kept}, out {n_bytes_out * 8e-9 / look.seconds:.3f} Gb/s")
        if "r1_writer0" in counters:
            n_events, n_files = (total(counters, "r1_writer", name) for name in ("events_written", "files_written"))
            yield Item("R1v1", f"{n_events:,} events in {n_files:,} files")
        for kind, boards in (("silent", silent_boards(counters)), ("slow", slow_boards(counters, look.node.states()))):
            if boards:
                yield Item(kind, f"board {named(boards)}", bad=True)
