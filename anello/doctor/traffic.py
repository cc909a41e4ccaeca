# SPDX-License-Identifier: Apache-2.0
"""Which receive backend costs least for the traffic that flows: each receives it for a while, in turn.

The cost of a datagram is the CPU time of the whole machine, not of the thread that receives: a backend whose work is
done in the kernel's interrupt is not cheaper for that. Front ends on the same machine are included, the same for all
backends, and so the differences look smaller than they are.
"""

import errno
import selectors
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from anello.card import Backend, Card, Clop
from anello.configuration.base import FrontEndsConfig
from anello.errors import ConfigError
from anello.system.cpu import interrupts_s, thread_times_ns

WORTH_CHANGING = 0.9  # of the configured backend's cost: smaller differences may be chance
WARM_UP_SHARE, N_TURNS, PORT_PATIENCE_S = 0.25, 3, 2.0


@dataclass(frozen=True)
class Way:
    """A way to receive, in the terms of the configuration."""

    backend: Backend
    gro: bool

    @property
    def settings(self) -> str:
        return f"receive.backend={self.backend} receive.gro={str(self.gro).lower()}"


WAYS = (Way("socket", True), Way("socket", False), Way("io_uring", True), Way("af_xdp", False))


@dataclass(frozen=True)
class Turn:
    """The datagrams received in one turn, and their cost."""

    n_datagrams: int
    n_lost: int  # dropped by the kernel for want of room
    seconds: float
    machine_s: float  # CPU time of all cores
    receiver_s: float  # the part of it used by the receiving process

    @property
    def machine_ns(self) -> float:
        """CPU time of the machine per datagram, ns."""
        return self.machine_s * 1e9 / max(1, self.n_datagrams)

    @property
    def receiver_ns(self) -> float:
        return self.receiver_s * 1e9 / max(1, self.n_datagrams)


TakeTurn = Callable[[FrontEndsConfig, Way, str, float], Turn]


@dataclass(frozen=True)
class TrafficTrial:
    """All turns of one way. refused: why there are none, or none that can be judged."""

    way: Way
    turns: tuple[Turn, ...] = ()
    refused: str = ""

    @property
    def machine_ns(self) -> float:
        return statistics.median(turn.machine_ns for turn in self.turns)

    @property
    def spread(self) -> float:
        """Half of the distance between its cheapest and its most expensive turn, over the median."""
        costs = [turn.machine_ns for turn in self.turns]
        return (max(costs) - min(costs)) / 2 / max(self.machine_ns, 1e-9)

    @property
    def receiver_ns(self) -> float:
        return statistics.median(turn.receiver_ns for turn in self.turns)

    @property
    def rate_hz(self) -> float:
        return statistics.median(turn.n_datagrams / turn.seconds for turn in self.turns)

    @property
    def n_lost(self) -> int:
        return sum(turn.n_lost for turn in self.turns)


def try_all(
    config: FrontEndsConfig,
    interface: str,
    seconds: float,
    notify: Callable[[str], None] = lambda _: None,
    take: TakeTurn | None = None,
) -> list[TrafficTrial]:
    """Tries every way and the configured one, N_TURNS times in turn, `seconds` each; each step is reported to the
    callback. Raises ConfigError where no traffic can be expected, or none was received."""
    require_ports(config)
    take = take or receive_for
    turns: dict[Way, list[Turn]] = {way: [] for way in (*WAYS, configured_way(config))}
    refused: dict[Way, str] = {}
    for number in range(1, N_TURNS + 1):
        for way, taken in turns.items():
            if way in refused:
                continue
            notify(f"turn {number} of {N_TURNS}: {way.settings}")
            try:
                taken.append(take(config, way, interface, seconds))
            except (ConfigError, OSError) as error:
                refused[way] = str(error)
    if len(refused) == len(turns):
        way, reason = next(iter(refused.items()))
        raise ConfigError("receive.backend", "must be one that works here", way.backend, reason)
    trials = [_judged(way, taken, refused.get(way, "")) for way, taken in turns.items()]
    if not any(trial.turns for trial in trials):
        raise ConfigError(
            "receive.ports",
            "must be where front ends send now",
            str(config.receive.ports),
            "Start the front ends first (anello source CONFIG), and stop the node",
        )
    return trials


def _judged(way: Way, turns: Sequence[Turn], refused: str) -> TrafficTrial:
    """Refuses a way that received nothing: it lost nothing and cost nothing, and is not the best for that."""
    if not refused and not all(turn.n_datagrams for turn in turns):
        refused = "no datagram came in a turn"
    return TrafficTrial(way, () if refused else tuple(turns), refused)


def configured_way(config: FrontEndsConfig) -> Way:
    receive = config.receive
    return Way(receive.backend, receive.gro and receive.backend != "af_xdp")  # af_xdp receives no super-packets


def require_ports(config: FrontEndsConfig) -> None:
    if config.receive.backend in ("pcap", "nanet"):
        raise ConfigError(
            "receive.backend",
            "must take datagrams from the network",
            config.receive.backend,
            "--traffic compares the ways to receive them",
        )
    if 0 in config.receive.ports:
        raise ConfigError(
            "receive.ports",
            "must be given",
            str(config.receive.ports),
            "Name the ports that front ends send to (0: any free one)",
        )


def receive_for(config: FrontEndsConfig, way: Way, interface: str, seconds: float) -> Turn:
    """One turn. Raises ConfigError and OSError."""
    receive = config.receive
    with Card(
        receive.host,
        backend=way.backend,
        gro=way.gro,
        interface=interface,
        socket_buffer_bytes=receive.socket_buffer_bytes,
    ) as card:
        lists = [card.register(port, when_full="drop_new") for port in receive.ports]
        _open(card)
        _empty(lists, WARM_UP_SHARE * seconds)
        counted, threads_ns, interrupted_s = _counted(lists), thread_times_ns(), interrupts_s()
        began_s, used_s = time.monotonic(), time.process_time()
        _empty(lists, seconds)
        seconds, used_s = time.monotonic() - began_s, time.process_time() - used_s
        machine_s = sum(ns - threads_ns.get(thread, 0) for thread, ns in thread_times_ns().items()) * 1e-9
        n_datagrams, n_lost = (now - then for now, then in zip(_counted(lists), counted, strict=True))
        return Turn(n_datagrams, n_lost, seconds, machine_s + interrupts_s() - interrupted_s, used_s)


def _open(card: Card) -> None:
    """Opens the card, with a retry: the kernel may close the ports of the previous way later."""
    until = time.monotonic() + PORT_PATIENCE_S
    while True:
        try:
            card.start()
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _empty(lists: Sequence[Clop], seconds: float) -> None:
    """Takes and gives back all buffers for `seconds`."""
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as bells:
        for clop in lists:
            bells.register(clop, selectors.EVENT_READ, clop)
        while (left := until - time.monotonic()) > 0:
            for key, _ in bells.select(left):
                while (buffer := key.data.take()) is not None:
                    buffer.give_back()


def _counted(lists: Sequence[Clop]) -> tuple[int, int]:
    """Datagrams taken, and lost."""
    counters = [clop.counters() for clop in lists]
    n_lost = sum(one["kernel_dropped"] + one["blocks_dropped"] for one in counters)
    return sum(one["datagrams"] for one in counters), n_lost


def advice(trials: Sequence[TrafficTrial], configured: Way) -> str:
    """The recommended way, with the reason."""
    working = [trial for trial in trials if trial.turns]
    fewest = min(trial.n_lost for trial in working)
    best = min((trial for trial in working if trial.n_lost == fewest), key=lambda trial: trial.machine_ns)
    now = next((trial for trial in working if trial.way == configured), None)
    if now is None:
        return f"take {best.way.settings}: what is configured does not work here"
    if best.way == now.way or (now.n_lost == fewest and not _is_cheaper(best, now)):
        return f"stay with {now.way.settings}: no other is cheaper by {1 - WORTH_CHANGING:.0%} in every turn"
    if now.n_lost > fewest:
        return f"take {best.way.settings}: it loses {best.n_lost:,} datagrams, what is configured {now.n_lost:,}"
    return f"take {best.way.settings}: {best.machine_ns / now.machine_ns:.2f} of the CPU time of what is configured"


def _is_cheaper(one: TrafficTrial, other: TrafficTrial) -> bool:
    """True if its most expensive turn costs less than the other's cheapest."""
    return max(turn.machine_ns for turn in one.turns) < WORTH_CHANGING * min(turn.machine_ns for turn in other.turns)


def table(trials: Sequence[TrafficTrial]) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("way", "datagrams/s", "lost", "CPU ns/datagram", "spread %", "of it the receiver"):
        shown.add_column(column, justify="left" if column == "way" else "right")
    for trial in trials:
        if trial.turns:
            shown.add_row(
                trial.way.settings,
                f"{trial.rate_hz:,.0f}",
                f"{trial.n_lost:,}",
                f"{trial.machine_ns:,.0f}",
                f"{trial.spread * 100:.0f}",
                f"{trial.receiver_ns:,.0f}",
            )
        else:
            shown.add_row(trial.way.settings, "-", "-", "-", "-", "-")
    return shown


def show(trials: Sequence[TrafficTrial], configured: Way, console: Console) -> None:
    console.print(table(trials))
    for trial in trials:
        if trial.refused:
            console.print(Text(f"{trial.way.settings} does not work here: {trial.refused}", style="dim"))
    console.print(Text(advice(trials, configured)))


def as_dict(trials: Sequence[TrafficTrial], configured: Way) -> dict[str, object]:
    return {
        "ways": [
            {"settings": trial.way.settings, "refused": trial.refused}
            | (
                {
                    "datagrams_per_s": trial.rate_hz,
                    "n_lost": trial.n_lost,
                    "machine_ns": trial.machine_ns,
                    "spread": trial.spread,
                    "receiver_ns": trial.receiver_ns,
                }
                if trial.turns
                else {}
            )
            for trial in trials
        ],
        "configured": configured.settings,
        "advice": advice(trials, configured),
    }
