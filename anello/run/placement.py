# SPDX-License-Identifier: Apache-2.0
"""Where the threads of a run go: those on the data's way each on a core of their own, everything else on the others.

A thread that waits for data should run the moment they come. What keeps it from that is another thread on its core: the
node's other threads, this program and the simulated front ends are kept off it, and where the system permits it, the
thread goes before what is left there (SCHED_FIFO).
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
    Told = TypeVar("Told")

ROOT = Path("/")
LOOK_S = 0.05
BUSY_SHARE = 0.3  # of a core that somebody else uses; a tick of the clock is a fifth of a look


@dataclass(frozen=True)
class UsableCores:
    """What this process may use, and what is in use."""

    cores: frozenset[int]
    isolated: frozenset[int] = frozenset()  # kept free of everything that does not ask for them
    limit: float | None = None  # cores' worth of time that its control group may use
    busy: Mapping[int, float] = field(default_factory=dict)  # by core, share of the time
    siblings: Mapping[int, frozenset[int]] = field(default_factory=dict)  # logical cores of the same physical one
    may_go_first: bool = True  # the system has time for real-time threads

    @classmethod
    def look(
        cls, root: Path = ROOT, wait: Callable[[float], None] = time.sleep, may_use: Callable[[int], bool] | None = None
    ) -> "UsableCores":
        """This machine now; takes 50 ms. The doctor reads the same files, and knows how they may look."""
        from anello.host.cores import KERNEL, listed, quotas, siblings_of
        from anello.host.host import Host
        from anello.host.machine import ThisMachine

        host = Host(root, ThisMachine())
        cores = host.machine.allowed_cores()
        busy = _busy_share(host)
        wait(LOOK_S)
        isolated = _told(lambda: listed(host, "isolated"), frozenset[int]())
        return cls(
            cores,
            isolated=frozenset(filter(may_use or _may_use, isolated)),
            limit=_told(lambda: min((allowed for allowed, _ in quotas(host)), default=None), None),
            busy=busy(),
            siblings=_told(lambda: dict(siblings_of(host)), {}),
            may_go_first=_told(lambda: host.number(f"{KERNEL}/sched_rt_runtime_us"), -1) != 0,
        )

    @property
    def n_cores(self) -> int:
        n = len(self.cores | self.isolated)
        return n if self.limit is None else min(n, int(self.limit))


@dataclass(frozen=True)
class Placement:
    """Cores of the threads on the data's way, and those that are left for everything else."""

    cores: tuple[int, ...] = ()  # empty: wherever the system puts them
    rest: frozenset[int] = frozenset()
    words: str = ""


def choose(n: int, machine: UsableCores, claim: Callable[[int], bool] = lambda core: True) -> Placement:
    """For n threads on the data's way. claim: whether nobody else has chosen this core, which is then ours."""
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
    """Isolated cores first, then idle ones, then those whose other half is free; the highest of them, since interrupts
    go to the lowest."""
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
    """Whether the configuration leaves it to this module where threads run."""
    return config.threads.placement == "auto" and not config.threads.cores


@contextmanager
def own_cores(n: int, machine: UsableCores) -> Iterator[Placement]:
    """For n threads on the data's way. Until the end this thread, and every thread and process that it begins, keeps
    off their cores; the node's own threads go to theirs by themselves."""
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
    """Those for the threads on the data's way."""
    threads = config.threads
    priority = "realtime" if machine.may_go_first and config.waits_for_data else threads.priority
    values = {"cores": threads.cores_of_layout(cores, config.n_lanes), "priority": priority}
    return _with_threads(config, **values)


def _with_wait(config: "Config", machine: UsableCores, chosen: Placement) -> tuple["Config", str]:
    """With threads.wait, and the words for what was chosen and why."""
    if config.threads.wait != "auto" or not config.waits_for_data:
        return config, ""
    n_others = config.n_threads - len(chosen.cores) + 2  # front ends on this machine, and this program
    spins, why = may_spin(machine, chosen, n_others)
    how = "spinning" if spins else "sleeping"
    return _with_threads(config, wait="spin_pinned" if spins else "sleep"), f"; data are waited for by {how}: {why}"


def may_spin(machine: UsableCores, chosen: Placement, n_others: int) -> tuple[bool, str]:
    """Whether a core is free for each thread to look for data without pause, beside n_others threads; and why. Nothing
    comes to an isolated core by itself, and nothing has to come to another one while there are idle ones."""
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
    """With cores that the user chose: threads spin where all of those are isolated."""
    given = {core for core in config.threads.cores if core >= 0}
    if config.threads.wait != "auto" or not given or not config.waits_for_data or not given <= look().isolated:
        return config
    return _with_threads(config, wait="spin_pinned")


def _with_threads(config: "Config", **values: object) -> "Config":
    return config.model_copy(update={"threads": config.threads.model_copy(update=values)})


def _claimed(core: int, until_end: ExitStack) -> bool:
    """Ours until the end, or until this process is gone. Where the file that all share is a stranger's, who may hold it
    for ever, this user's processes have one of their own."""
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
    """To read, which is enough for a lock: it may be root's, and is then not to be opened with O_CREAT. Raises OSError
    where it is no file of this user or root."""
    try:
        file = os.open(path, LOCK_FLAGS)
    except FileNotFoundError:
        file = os.open(path, LOCK_FLAGS | os.O_CREAT)
        os.fchmod(file, 0o644)  # whatever this user's mask
    found = os.fstat(file)
    if stat.S_ISREG(found.st_mode) and found.st_uid in (0, os.geteuid()):
        return file
    os.close(file)
    raise PermissionError(f"{path} is not a file of this user or root")


# --- What the system says
def _told(answer: Callable[[], "Told"], otherwise: "Told") -> "Told":
    """What one file says; otherwise where it is absent or makes no sense."""
    from anello.host.host import CannotTell

    try:
        return answer()
    except CannotTell:
        return otherwise


def _busy_share(host: "Host") -> Callable[[], dict[int, float]]:
    """By core, the share of the time since then that somebody used."""
    before = _times(host)

    def busy() -> dict[int, float]:
        shares = {}
        for core, (idle, total) in _times(host).items():
            was_idle, was = before.get(core, (0, 0))
            shares[core] = 1 - (idle - was_idle) / (total - was) if total > was else 0.0
        return shares

    return busy


def _may_use(core: int) -> bool:
    """Isolated cores are in no mask by themselves; a control group may keep this process off them."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        return False
    os.sched_setaffinity(0, before)
    return True


def _times(host: "Host") -> dict[int, tuple[int, int]]:
    """By core: clock ticks idle, and all."""
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
