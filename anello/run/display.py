# SPDX-License-Identifier: Apache-2.0
"""Progress during a run: a live table on a terminal, otherwise a line from time to time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from anello.account.notices import Notice

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PLAIN_INTERVAL_S = 2.0


class Item(NamedTuple):
    """One item of the display; bad: in red."""

    label: str
    value: str
    bad: bool = False


@dataclass(frozen=True)
class Progress:
    """The state of a run at one moment."""

    time_s: float
    items: tuple[Item, ...]


class Display(Protocol):
    """Shows progress between __enter__ and __exit__."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, progress: Progress) -> None: ...


class LiveDisplay:
    """A table that is redrawn in place."""

    def __init__(self, console: "Console") -> None:
        from rich.live import Live

        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def show(self, progress: Progress) -> None:
        self._live.update(_table(progress), refresh=True)


class PlainDisplay:
    """A line every two seconds."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._next_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: Progress) -> None:
        if progress.time_s >= self._next_s:
            self._next_s = progress.time_s + PLAIN_INTERVAL_S
            self._console.print(line(progress), soft_wrap=True, highlight=False, markup=False)


class NoDisplay:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: Progress) -> None:
        pass


STYLES = {"detail": "dim", "info": "", "warning": "yellow", "bad": "bold red"}


def shown_on(console: "Console", *, verbose: bool = False) -> Callable[[Notice], None]:
    """Shows notices when they arrive, above a display that is redrawn in place. verbose: also details."""

    def show(notice: Notice) -> None:
        if verbose or notice.severity != "detail":
            style = STYLES[notice.severity]
            console.print(notice.line, style=style, soft_wrap=True, highlight=False, markup=False)

    return show


def make(kind: str, console: "Console") -> Display:
    """Makes the display. kind: the value of run.display."""
    if kind == "off":
        return NoDisplay()
    if kind == "live" or (kind == "auto" and console.is_terminal):
        return LiveDisplay(console)
    return PlainDisplay(console)


def _table(progress: Progress) -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for item in progress.items:
        table.add_row(f"[dim]{item.label}[/]", f"[bold red]{item.value}[/]" if item.bad else f"[bold]{item.value}[/]")
    return table


def line(progress: Progress) -> str:
    return "  ".join(f"{item.label}: {item.value};" for item in progress.items).rstrip(";")
