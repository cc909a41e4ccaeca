# SPDX-License-Identifier: Apache-2.0
"""Which cores the threads of a run have to themselves."""

import os
import threading
from pathlib import Path

import pytest

from anello.configuration.base import FrontEndsConfig
from anello.configuration.load import load
from anello.run import placement
from anello.run.placement import UsableCores, choose, may_spin, placed
from anello.system.priority import going_first


def machine(n: int, **what: object) -> UsableCores:
    return UsableCores(frozenset(range(n)), **what)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "of", "cores", "rest"),
    [
        (1, machine(2), (1,), {0}),
        (3, machine(8), (7, 6, 5), {0, 1, 2, 3, 4}),
        (1, machine(4, busy={3: 0.9, 2: 0.5, 1: 0.1, 0: 0.0}), (1,), {0, 2, 3}),
        (1, machine(2, busy={0: 1.0, 1: 1.0}), (1,), {0}),
        (2, machine(4, siblings={3: frozenset({2, 3}), 2: frozenset({2, 3})}), (3, 1), {0, 2}),
        (2, machine(2, isolated=frozenset({4, 5})), (5, 4), {0, 1}),
        (1, machine(16, limit=2.5), (15,), set(range(15))),
    ],
)  # fmt: skip
def test_threads_on_the_datas_way_have_the_best_cores(
    n: int, of: UsableCores, cores: tuple[int, ...], rest: set[int]
) -> None:
    chosen = choose(n, of)
    assert (chosen.cores, set(chosen.rest)) == (cores, rest)
    assert "everything else on core" in chosen.words


@pytest.mark.parametrize(
    ("n", "of"), [(1, machine(1)), (2, machine(2)), (4, machine(4, busy={0: 0.0})), (2, machine(16, limit=2.0))]
)
def test_without_a_core_for_everything_else_the_system_decides(n: int, of: UsableCores) -> None:
    chosen = choose(n, of)
    assert chosen.cores == ()
    assert f"need {n + 1} cores" in chosen.words


def test_cores_of_another_run_are_left_to_it() -> None:
    assert choose(1, machine(3), lambda core: core != 2).cores == (1,)
    chosen = choose(2, machine(3), lambda core: core != 2)
    assert chosen.cores == (1, 0)
    assert chosen.rest == {2}
    assert "other runs have the cores" in choose(2, machine(3), lambda core: core == 2).words


def test_something_is_left_for_everything_else() -> None:
    """The kernel sends no threads to isolated cores by itself."""
    alone = UsableCores(frozenset({0}), isolated=frozenset({1}))
    assert choose(1, alone).cores == (1,)
    taken = choose(1, alone, lambda core: core == 0)
    assert taken.cores == ()


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> UsableCores:
    """Two of this machine's own cores, unclaimed by other tests."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("there is one core")
    monkeypatch.setattr(placement, "_claimed", lambda core, until_end: True)
    return UsableCores(frozenset(cores))


def rich(*settings: str) -> FrontEndsConfig:
    config = load(None, list(settings))
    assert isinstance(config, FrontEndsConfig)
    return config


def test_a_run_keeps_off_its_nodes_core_until_its_end(two_cores: UsableCores) -> None:
    before, lane = os.sched_getaffinity(0), max(two_cores.cores)
    seen: list[set[int]] = []
    with placed(rich(), lambda: two_cores) as (config, chosen):
        other = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
        other.start()
        other.join()
        assert config.threads.cores == [lane, -1]  # type: ignore[attr-defined]
        assert config.threads.priority == "realtime"
        assert os.sched_getaffinity(0) == chosen.rest
    assert seen == [set(chosen.rest)]
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("settings", "n", "cores"),
    [
        ([], 1, [7, -1]),
        (["trigger.threads=3"], 3, [7, -1, 6, -1, 5, -1]),
        (["trigger.threads=2", "receive.lanes=3"], 3, [7, -1, 6, -1, 5, -1]),
        (["trigger.threads=2", 'threads.layout=["receive+build", "trigger", "emit", "store"]'], 4,
         [7, 6, 5, -1, -1, 4, -1, -1]),
        (["chain=camera", "camera_build.groups=3", "receive.ports=[0,0,0]", "camera_source.ports=[0,0,0]"], 3,
         [7, -1, 6, -1, 5, -1]),
        (["chain=camera", 'threads.layout=["receive", "build+filter+send"]'], 2, [7, 6]),
        (["chain=km3net"], 2, [7, 6, -1]),
    ],
)  # fmt: skip
def test_each_lane_on_the_datas_way_has_a_core(settings: list[str], n: int, cores: list[int]) -> None:
    config = rich(*settings)
    threads = config.threads
    assert threads.n_on_the_way(config.n_lanes) == n
    assert threads.cores_of_layout((7, 6, 5, 4)[:n], config.n_lanes) == cores
    assert threads.n_threads(config.n_lanes) == config.n_threads


@pytest.mark.parametrize("setting", ["threads.wait=spin", "receive.backend=pcap"])
def test_what_never_waits_has_no_priority(two_cores: UsableCores, setting: str) -> None:
    """The system would stop it for 50 ms of each second."""
    more = ["receive.pcap_file=x.pcap"] if "pcap" in setting else []
    with placed(rich(setting, *more), lambda: two_cores) as (config, _):
        assert config.threads.priority == "usual"


@pytest.mark.parametrize("setting", ["threads.placement=free", "threads.cores=[0]"])
def test_what_the_user_says_stands(two_cores: UsableCores, setting: str) -> None:
    before = os.sched_getaffinity(0)
    given = rich(setting)
    with placed(given, lambda: two_cores) as (config, chosen):
        assert config is given
        assert os.sched_getaffinity(0) == before
    assert chosen.words == ""


def test_a_core_is_claimed_by_one_run_at_a_time() -> None:
    from contextlib import ExitStack

    core = 4_000  # of no machine
    path = Path(f"/dev/shm/anello.core{core}")
    try:
        with ExitStack() as first, ExitStack() as second:
            assert placement._claimed(core, first)
            assert not placement._claimed(core, second)
            first.close()
            assert placement._claimed(core, second)
    finally:
        path.unlink(missing_ok=True)


def test_threads_begun_meanwhile_go_first_where_permitted() -> None:
    policies: list[int] = []

    def look() -> None:
        policies.append(os.sched_getscheduler(0))

    for wanted in (True, False):
        with going_first(wanted):
            is_first = os.sched_getscheduler(0) == os.SCHED_FIFO
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
            assert (policies.pop() == os.SCHED_FIFO) == is_first
            assert wanted or not is_first
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_machine_is_read_as_the_kernel_writes_it(tmp_path: Path) -> None:
    def write(name: str, text: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def stat(idle0: int, idle1: int) -> str:
        rows = [f"cpu{core} {100 - idle} 0 0 {idle} 0 0 0 0 0 0" for core, idle in enumerate((idle0, idle1))]
        return "\n".join(["cpu 1 2 3 4 5 6 7 8 9 10", *rows, "intr 1 2 3"])

    write("proc/stat", stat(0, 0))
    write("proc/sys/kernel/sched_rt_runtime_us", "0\n")
    write("proc/self/cgroup", "0::/\n")
    write("sys/fs/cgroup/cpu.max", "150000 100000\n")
    write("sys/devices/system/cpu/isolated", "2-3,7\n")
    mine = min(os.sched_getaffinity(0))
    write(f"sys/devices/system/cpu/cpu{mine}/topology/thread_siblings_list", f"{mine},{mine + 1}\n")

    def later(seconds: float) -> None:
        write("proc/stat", stat(20, 90).replace("cpu0 80", "cpu0 180").replace("cpu1 10", "cpu1 110"))

    seen = UsableCores.look(tmp_path, later, may_use=lambda core: True)
    assert seen.isolated == {2, 3, 7}
    assert seen.limit == 1.5
    assert not seen.may_go_first
    assert seen.siblings[mine] == {mine, mine + 1}
    assert seen.busy == pytest.approx({0: 0.8, 1: 0.1})
    assert UsableCores.look(tmp_path / "nothing", lambda seconds: None).limit is None


def test_isolated_cores_that_this_process_may_not_use_are_left_out(tmp_path: Path) -> None:
    """A container sees those of the whole machine; a thread that is sent there would end the run."""
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/sched_rt_runtime_us").write_text("950000")
    mine = min(os.sched_getaffinity(0))
    (tmp_path / "sys/devices/system/cpu/isolated").write_text(f"{mine},4000\n")
    before = os.sched_getaffinity(0)
    seen = UsableCores.look(tmp_path, lambda seconds: None)
    assert seen.isolated == {mine}
    assert seen.may_go_first
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("text", ["(null)", "", "what?"])
def test_a_list_of_cores_that_is_none_ends_no_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "sys/devices/system/cpu").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/sched_rt_runtime_us").write_text("950000")
    (tmp_path / "sys/devices/system/cpu/isolated").write_text(text)
    assert UsableCores.look(tmp_path, lambda seconds: None).isolated == frozenset()


def test_a_core_is_claimed_by_a_file_that_may_only_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock file of another user's earlier run: the system refuses to open it with O_CREAT, or to write."""
    from contextlib import ExitStack

    real_open, path = os.open, Path("/dev/shm/anello.core4001")

    def refusing(name: "str | Path", flags: int, *more: int) -> int:
        if flags & (os.O_CREAT | os.O_RDWR | os.O_WRONLY):
            raise PermissionError(name)
        return real_open(name, flags, *more)

    path.touch()
    monkeypatch.setattr(os, "open", refusing)
    try:
        with ExitStack() as until_end:
            assert placement._claimed(4_001, until_end)
    finally:
        path.unlink()


@pytest.mark.parametrize("kind", ["pipe", "link", "of another user"])
def test_what_strangers_put_in_a_locks_place_is_neither_waited_for_nor_believed(kind: str, tmp_path: Path) -> None:
    from contextlib import ExitStack

    path = Path("/dev/shm/anello.core4002")
    own = Path(f"{path}.{os.geteuid()}")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path)
    elif os.geteuid() == 0:
        path.touch()
        os.chown(path, 65534, 65534)
    else:
        pytest.skip("only root can make another user's file")
    try:
        with ExitStack() as first, ExitStack() as second:
            assert placement._claimed(4_002, first)
            assert not placement._claimed(4_002, second)
    finally:
        path.unlink()
        own.unlink(missing_ok=True)


# --- Spinning, or sleeping until data come
@pytest.mark.parametrize(
    ("of", "spins", "why"),
    [
        (machine(2), False, "spinning needs 3 idle cores for everything else, there is 1"),
        (machine(4), True, "everything else has 3 idle cores"),
        (machine(4, busy={1: 0.9}), False, "needs 3 idle cores for everything else, there are 2"),
        (machine(4, siblings={3: frozenset({2, 3})}), False, "there are 2"),
        (machine(5, siblings={4: frozenset({3, 4})}), True, "has 3 idle cores"),
        (machine(16, limit=3.5), False, "spinning needs time for 4 threads, the control group allows 3.5 cores"),
        (machine(16, limit=4.0), True, "idle cores"),
        (machine(2, isolated=frozenset({7})), True, "the cores are isolated"),
        (machine(2, isolated=frozenset({7}), limit=2.0), False, "the control group allows 2 cores"),
    ],
)  # fmt: skip
def test_threads_spin_where_a_core_is_free_for_it(of: UsableCores, spins: bool, why: str) -> None:
    """Three other threads run as well: of the node, of front ends, and this program's."""
    found = may_spin(of, choose(1, of), 3)
    assert found[0] == spins
    assert why in found[1]


def test_where_every_core_is_busy_nobody_spins() -> None:
    of = machine(8, busy=dict.fromkeys(range(8), 0.5))
    assert not may_spin(of, choose(1, of), 0)[0]


def test_what_was_chosen_for_waiting_is_said_and_done(two_cores: UsableCores) -> None:
    with placed(rich(), lambda: two_cores) as (config, chosen):
        assert config.threads.wait == "sleep"
        assert "spinning needs" in chosen.words
    mine = max(two_cores.cores)
    isolated = UsableCores(two_cores.cores - {mine}, isolated=frozenset({mine}))
    with placed(rich(), lambda: isolated) as (config, chosen):
        assert (config.threads.wait, config.threads.priority) == ("spin_pinned", "usual")
        assert "data are waited for by spinning: the cores are isolated" in chosen.words
    with placed(rich("threads.wait=sleep"), lambda: isolated) as (config, _):
        assert (config.threads.wait, config.threads.priority) == ("sleep", "realtime")


def test_threads_on_isolated_cores_that_the_user_names_spin(two_cores: UsableCores) -> None:
    isolated = UsableCores(two_cores.cores, isolated=frozenset({7}))
    with placed(rich("threads.cores=[7, -1]"), lambda: isolated) as (config, _):
        assert config.threads.wait == "spin_pinned"
    with placed(rich("threads.cores=[7, 0]"), lambda: isolated) as (config, _):
        assert config.threads.wait == "auto", "the same as sleep"


def test_a_file_is_not_waited_for(two_cores: UsableCores) -> None:
    isolated = UsableCores(frozenset({min(two_cores.cores)}), isolated=frozenset({max(two_cores.cores)}))
    with placed(rich("receive.backend=pcap", "receive.pcap_file=x.pcap"), lambda: isolated) as (config, _):
        assert config.threads.wait == "auto", "the same as sleep"


# --- Python is in nobody's way
PYTHON = "trigger.python=any.py:decide"


def test_a_python_trigger_has_a_thread_of_its_own_and_no_lanes_core(two_cores: UsableCores) -> None:
    config = rich(PYTHON)
    assert config.threads.layout == ["receive+build", "trigger+emit", "store"]
    assert ["of its own" in line for line in config.remarks] == [True]
    with placed(config, lambda: two_cores) as (on_cores, _):
        assert on_cores.threads.cores == [max(two_cores.cores), -1, -1]


def test_a_python_trigger_stays_where_the_user_puts_it() -> None:
    lane = ["receive+build+trigger+emit", "store"]
    for given in ('threads.layout=["receive+build+trigger+emit", "store"]', "threads.cores=[0]"):
        config = rich(PYTHON, given)
        assert config.threads.layout == lane
        assert "datagrams wait for it" in config.remarks[0]
    assert rich().threads.layout == lane
    assert rich().remarks == []
