# SPDX-License-Identifier: Apache-2.0
"""Where the threads of a run are placed: each thread on the data's way on a core of its own, everything else on the
others.

A thread that waits for data should run as soon as data arrive. Another thread on its core would delay it: the node's
other threads, this program and the simulated front ends are kept off that core, and where the system permits it, the
thread has priority over what is left there (SCHED_FIFO).
"""

import fcntl
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from anello.configuration.base import FrontEndsConfig
    from anello.host.host import Host

    Config = TypeVar("Config", bound=FrontEndsConfig)
    Answer = TypeVar("Answer")

ROOT = Path("/")
LOOK_S = 0.05
# share of a core above which it counts as used by others; a clock tick is a fifth of the measuring time
BUSY_SHARE = 0.3


@dataclass(frozen=True)
class UsableCores:
    """The cores that this process may use, and their present use."""

    cores: frozenset[int]
    isolated: frozenset[int] = frozenset()  # kept free of threads that are not pinned to them
    limit: float | None = None  # cores' worth of CPU time that its control group may use
    busy: Mapping[int, float] = field(default_factory=dict)  # by core, share of the time
    siblings: Mapping[int, frozenset[int]] = field(default_factory=dict)  # logical cores of the same physical core
    may_go_first: bool = True  # the system leaves time for real-time threads

    @classmethod
    def look(
        cls, root: Path = ROOT, wait: Callable[[float], None] = time.sleep, may_use: Callable[[int], bool] | None = None
    ) -> "UsableCores":
        """Examines this machine; takes 50 ms. The doctor reads the same files, and knows their formats."""
        from anello.host.cores import KERNEL, listed, quotas, siblings_of
        from anello.host.host import Host
        from anello.host.machine import ThisMachine

        host = Host(root, ThisMachine())
        cores = host.machine.allowed_cores()
        busy = _busy_share(host)
        wait(LOOK_S)
        isolated = _if_known(lambda: listed(host, "isolated"), frozenset[int]())
        return cls(
            cores,
            isolated=frozenset(filter(may_use or _may_use, isolated)),
            limit=_if_known(lambda: min((allowed for allowed, _ in quotas(host)), default=None), None),
            busy=busy(),
            siblings=_if_known(lambda: dict(siblings_of(host)), {}),
            may_go_first=_if_known(lambda: host.number(f"{KERNEL}/sched_rt_runtime_us"), -1) != 0,
        )

    @property
    def n_cores(self) -> int:
        n = len(self.cores | self.isolated)
        return n if self.limit is None else min(n, int(self.limit))


@dataclass(frozen=True)
class Placement:
    """The cores of the threads on the data's way, and those left for everything else."""

    cores: tuple[int, ...] = ()  # empty: the system chooses
    rest: frozenset[int] = frozenset()
    words: str = ""


def choose(n: int, machine: UsableCores, claim: Callable[[int], bool] = lambda core: True) -> Placement:
    """Chooses cores for n threads on the data's way. claim: takes a core for us; False if another program has it."""
    if machine.n_cores <= n:
        return Placement(
            words=f"threads run where the system puts them: {_threads(n)} on the data's way and "
            f"everything else need {n + 1} cores, there are {machine.n_cores}"
        )
    cores: list[int] = []
    for core in _by_preference(machine):
        if len(cores) < n and machine.cores - {*cores, core} and claim(core):
            cores.append(core)
    if len(cores) < n:
        return Placement(words="threads run where the system puts them: other runs have the cores")
    rest = machine.cores - set(cores)
    return Placement(
        tuple(cores),
        rest,
        f"{_threads(n)} on the data's way on {_cores(cores)}, everything else on {_cores(sorted(rest))}",
    )


def _by_preference(machine: UsableCores) -> Iterator[int]:
    """Cores in the order of preference: isolated ones, then idle ones, then those whose other half is free; high
    numbers first, since interrupts go to the lowest."""
    left, taken = set(machine.cores | machine.isolated), set[int]()
    while left:
        core = max(
            left,
            key=lambda one: (
                one in machine.isolated,
                machine.busy.get(one, 0.0) < BUSY_SHARE,
                one not in taken,
                one,
            ),
        )
        left.remove(core)
        taken |= machine.siblings.get(core, frozenset())
        yield core


def is_open(config: "FrontEndsConfig") -> bool:
    """True if the configuration leaves the placement of threads to this module."""
    return config.threads.placement == "auto" and not config.threads.cores


@contextmanager
def own_cores(n: int, machine: UsableCores) -> Iterator[Placement]:
    """Chooses cores for n threads on the data's way. Until the context ends, this thread, and every thread and
    process that it starts, stays off these cores; the node pins its own threads to them."""
    with ExitStack() as until_end:
        chosen = choose(n, machine, lambda core: _claimed(core, until_end))
        if chosen.cores:
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, chosen.rest)
            until_end.callback(os.sched_setaffinity, 0, before)
        yield chosen


@contextmanager
def placed(
    config: "Config", look: Callable[[], UsableCores] = UsableCores.look
) -> Iterator[tuple["Config", Placement]]:
    """The configuration with cores, where it leaves them open and there are enough."""
    if not is_open(config):
        yield _with_isolated(config, look), Placement()
        return
    machine = look()
    with own_cores(config.threads.n_on_the_way(config.n_lanes), machine) as chosen:
        if not chosen.cores:
            yield config, chosen
            return
        waiting, why = _with_wait(config, machine, chosen)
        yield with_cores(waiting, chosen.cores, machine), replace(chosen, words=chosen.words + why)


def with_cores(config: "Config", cores: Sequence[int], machine: UsableCores) -> "Config":
    """The configuration with these cores for the threads on the data's way."""
    threads = config.threads
    priority = "realtime" if machine.may_go_first and config.waits_for_data else threads.priority
    values = {"cores": threads.cores_of_layout(cores, config.n_lanes), "priority": priority}
    return _with_threads(config, **values)


def _with_wait(config: "Config", machine: UsableCores, chosen: Placement) -> tuple["Config", str]:
    """The configuration with threads.wait, and a text with the choice and its reasons."""
    if config.threads.wait != "auto" or not config.waits_for_data:
        return config, ""
    n_others = config.n_threads - len(chosen.cores) + 2  # front ends on this machine, and this program
    spins, why = may_spin(machine, chosen, n_others)
    how = "spinning" if spins else "sleeping"
    return _with_threads(config, wait="spin_pinned" if spins else "sleep"), f"; data are waited for by {how}: {why}"


def may_spin(machine: UsableCores, chosen: Placement, n_others: int) -> tuple[bool, str]:
    """True if each thread has a core on which it may poll for data without pause, with n_others threads on the
    machine; and the reason. The scheduler moves no other thread to an isolated core, and has no need to use
    another core while some are idle."""
    n_wanted = len(chosen.cores) + n_others
    if machine.limit is not None and machine.limit < n_wanted:
        return False, f"spinning needs time for {n_wanted} threads, the control group allows {machine.limit:g} cores"
    if machine.isolated.issuperset(chosen.cores):
        return True, "the cores are isolated"
    halves = frozenset[int]().union(*(machine.siblings.get(core, frozenset()) for core in chosen.cores))
    n_idle = sum(machine.busy.get(core, 0.0) < BUSY_SHARE for core in chosen.rest - halves)
    if n_idle < n_others or any(machine.busy.get(core, 0.0) >= BUSY_SHARE for core in chosen.cores):
        return (
            False,
            f"spinning needs {n_others} idle cores for everything else, there "
            f"{'is' if n_idle == 1 else 'are'} {n_idle}",
        )
    return True, f"everything else has {n_idle} idle cores"


def _with_isolated(config: "Config", look: Callable[[], UsableCores]) -> "Config":
    """The configuration for cores that the user chose: threads spin where all of those are isolated."""
    given = {core for core in config.threads.cores if core >= 0}
    if config.threads.wait != "auto" or not given or not config.waits_for_data or not given <= look().isolated:
        return config
    return _with_threads(config, wait="spin_pinned")


def _with_threads(config: "Config", **values: object) -> "Config":
    return config.model_copy(update={"threads": config.threads.model_copy(update=values)})


def _claimed(core: int, until_end: ExitStack) -> bool:
    """Claims a core until the context ends, or until this process ends. If another user owns the shared lock file,
    and could hold it for ever, this user's processes use a file of their own."""
    for name in (f"anello.core{core}", f"anello.core{core}.{os.geteuid()}"):
        try:
            file = _opened(Path("/dev/shm") / name)
        except OSError:
            continue
        until_end.callback(os.close, file)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
    return False


LOCK_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _opened(path: Path) -> int:
    """Opens a file for reading, which suffices for a lock: root may own it, and O_CREAT would then fail. Raises
    OSError where it is no file of this user or root."""
    try:
        file = os.open(path, LOCK_FLAGS)
    except FileNotFoundError:
        file = os.open(path, LOCK_FLAGS | os.O_CREAT)
        os.fchmod(file, 0o644)  # independent of this user's mask
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid()):
        return file
    os.close(file)
    raise PermissionError(f"{path} is not a file of this user or root")


# --- The system's files
def _if_known(answer: Callable[[], "Answer"], otherwise: "Answer") -> "Answer":
    """The answer from one file; `otherwise` where the file is absent or invalid."""
    from anello.host.host import CannotTell

    try:
        return answer()
    except CannotTell:
        return otherwise


def _busy_share(host: "Host") -> Callable[[], dict[int, float]]:
    """A function that returns, by core, the share of the time since this call that was used."""
    before = _times(host)

    def busy() -> dict[int, float]:
        shares = {}
        for core, (idle, total) in _times(host).items():
            was_idle, was = before.get(core, (0, 0))
            shares[core] = 1 - (idle - was_idle) / (total - was) if total > was else 0.0
        return shares

    return busy


def _may_use(core: int) -> bool:
    """True if this process may use the core. Isolated cores are in no mask by default; a control group may exclude
    others."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        return False
    os.sched_setaffinity(0, before)
    return True


def _times(host: "Host") -> dict[int, tuple[int, int]]:
    """By core: idle clock ticks, and all clock ticks."""
    times = {}
    for line in host.text("proc/stat").splitlines() if host.has("proc/stat") else ():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            used = [int(one) for one in ticks[:8]]
            times[int(name.removeprefix("cpu"))] = (used[3] + used[4], sum(used))
    return times


# --- Words
def _threads(n: int) -> str:
    return "1 thread" if n == 1 else f"{n} threads"


def _cores(cores: Collection[int]) -> str:
    from anello.host.host import show_cores

    return f"core{'s' * (len(cores) > 1)} {show_cores(cores)}"
