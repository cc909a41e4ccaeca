# SPDX-License-Identifier: Apache-2.0
"""The doctor's checks on made-up machines: what they say, and the command that they give."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import made_up_hosts as made_up
import pytest
from made_up_hosts import CPU, NET, Files, subject

from anello.configuration.load import load
from anello.doctor import CHECKS, Finding, Grade, examine, make_subject
from anello.doctor.command import is_bad
from anello.errors import ConfigError
from anello.host import topology
from anello.host.host import CannotTell, PageCost, ReceiveCost, parse_cores, show_cores

Examined = Callable[..., Finding]


@pytest.fixture
def look(tmp_path: Path) -> Examined:
    """One check's finding on a well-kept server that differs in `files` and `answers`."""

    def look(
        check: str, files: Files | None = None, interface: str = "eth0", *settings: str, **answers: object
    ) -> Finding:
        host = made_up.host(tmp_path, made_up.well_kept() | (files or {}), **answers)
        [finding] = examine(host, subject(interface, *settings), [check])
        return finding

    return look


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def commands(finding: Finding) -> tuple[str, ...]:
    assert finding.fix is not None
    return finding.fix.commands


# --- Whole machines -----------------------------------------------------------------------------------------------
def test_nothing_is_to_be_done_on_a_well_kept_server(tmp_path: Path) -> None:
    findings = examine(made_up.host(tmp_path, made_up.well_kept()), subject())
    assert {finding.result for finding in findings} == {Grade.GOOD, Grade.NOT_APPLICABLE}
    assert [finding for finding in findings if finding.fix] == []
    assert len(findings) == len(CHECKS)


def test_a_numa_server_with_a_narrow_slot_and_threads_in_the_wrong_place(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.numa_server(), allowed_cores=frozenset(range(32)))
    wanted = subject("ens1f0", "threads.cores=[9, 25, 0]", "threads.wait=spin")
    found = by_check(examine(host, wanted))
    assert {name for name, finding in found.items() if finding.result == Grade.BAD} == {"pcie", "irq"}
    assert found["pcie"].what == "x8 at 8 GT/s, 63 Gb/s, the card can x16 at 16 GT/s and receives 100 Gb/s"
    assert found["numa"].what == "ens1f0 is on node 1, cores 0 are not"
    assert found["smt"].what == "in threads.cores, 9+25 are two halves of one core"
    assert commands(found["irq"]) == ("echo 8 > /proc/irq/41/smp_affinity_list",)
    assert "nohz_full=0,9,25" in found["isolation"].fix.persist  # type: ignore[union-attr]


def test_a_laptop_learns_what_costs_it(tmp_path: Path) -> None:
    answers = {"socket_buffer": 212_992, "allowed_cores": frozenset(range(4)), "wake_up_s": 900e-6}
    findings = examine(made_up.host(tmp_path, made_up.laptop(), **answers), subject())
    found = by_check(findings)
    assert findings[0].check == "socket-buffer"
    assert findings[0].result == Grade.BAD
    better = {finding.check for finding in findings if finding.result == Grade.COULD_BE_BETTER}
    assert better == {"backlog", "mtu", "governor", "idle-states", "autogroup", "thp"}
    assert found["idle-states"].what == "cores may fall into C6 (133 µs), C10 (1048 µs)"
    assert str(found["idle-states"].prices[0]) == "a wake-up after 2 ms takes 900 µs"


def test_a_container_without_rights_is_not_guessed_at(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.container(), **made_up.NO_RIGHTS)
    found = by_check(examine(host, subject()))
    untold = {name for name, finding in found.items() if finding.result == Grade.CANNOT_TELL}
    assert untold == {"socket-buffer", "udp-memory", "backlog", "budget", "gro", "udp-gso", "clock", "rt-throttling",
                      "interleaving", "far-threads", "smt", "huge-pages", "receive-backends", "cuda",
                      "drops"}  # fmt: skip
    assert found["gro"].what == "Operation not permitted"
    assert found["backlog"].what == "/proc/sys/net/core/netdev_max_backlog: No such file or directory"
    assert found["cpu-quota"].result == Grade.BAD
    assert found["cpu-quota"].what.startswith("sys/fs/cgroup allows 1.5 cores")


def test_files_full_of_nonsense_are_no_fault_of_ours(tmp_path: Path) -> None:
    files = dict.fromkeys(made_up.numa_server(), "\x00 ünfug, 99999999999999999999-4 [")
    findings = examine(made_up.host(tmp_path, files), subject("ens1f0", "threads.cores=[1, 2]"))
    assert len(findings) == len(CHECKS)
    assert by_check(findings)["drops"].result == Grade.CANNOT_TELL


def test_empty_files_are_no_fault_of_ours(tmp_path: Path) -> None:
    findings = examine(made_up.host(tmp_path, dict.fromkeys(made_up.numa_server(), "")), subject("ens1f0"))
    assert len(findings) == len(CHECKS)


# --- One by one ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("had", "result"), [(64 << 20, Grade.GOOD), (32 << 20, Grade.COULD_BE_BETTER), (208 << 10, Grade.BAD)]
)
def test_socket_buffer(look: Examined, had: int, result: Grade) -> None:
    finding = look("socket-buffer", {"proc/sys/net/core/rmem_max": "212992"}, socket_buffer=had)
    assert finding.result == result
    if result != Grade.GOOD:
        assert commands(finding) == (f"sysctl -w net.core.rmem_max={64 << 20}",)
        assert finding.fix.persist == (  # type: ignore[union-attr]
            f"printf 'net.core.rmem_max = {64 << 20}\\n' > /etc/sysctl.d/90-anello-socket-buffer.conf"
        )


def test_sockets_that_would_fill_the_memory_for_udp(look: Examined) -> None:
    finding = look("udp-memory", {"proc/sys/net/ipv4/udp_mem": "1000 2000 4000"})
    assert finding.what == "full sockets take 512 MiB of the 15 MiB allowed for UDP"
    assert commands(finding) == ("sysctl -w 'net.ipv4.udp_mem=1000 2000 262144'",)


def test_budget_matters_once_it_was_used_up(look: Examined) -> None:
    small = {"proc/sys/net/core/netdev_budget": "300"}
    assert look("budget", small).result == Grade.GOOD
    assert look("budget", small | {"proc/net/softnet_stat": made_up.softnet(2, squeezed=3)}).what.endswith(
        "used up 6 times since boot"
    )


def test_drops_of_the_past_are_a_hint_and_those_of_now_a_fault(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.well_kept() | {"proc/net/snmp": made_up.snmp(7)})
    [finding] = examine(host, subject(), ["drops"])
    assert (finding.result, finding.what) == (
        Grade.COULD_BE_BETTER, "since boot: 7 for lack of room in a socket; none just now",
    )  # fmt: skip

    def lose() -> float:  # while the hiccups are measured
        made_up.write(tmp_path, {"proc/net/snmp": made_up.snmp(12), f"{NET}/eth0/statistics/rx_dropped": "2"})
        return 50e-6

    host.machine.hiccup_s = lose  # type: ignore[method-assign]
    finding = by_check(examine(host, subject(), ["hiccups", "drops"]))["drops"]
    assert finding.result == Grade.BAD
    assert finding.what.endswith("now: 5 for lack of room in a socket, 2 dropped at the interface")


def test_stolen_time_is_that_of_the_examination(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.well_kept() | {"proc/stat": made_up.stat(steal=500)})

    def pass_time() -> float:
        made_up.write(tmp_path, {"proc/stat": made_up.stat(steal=510, idle=1090)})
        return 50e-6

    host.machine.hiccup_s = pass_time  # type: ignore[method-assign]
    finding = by_check(examine(host, subject(), ["hiccups", "steal"]))["steal"]
    assert (finding.result, str(finding.prices[0])) == (Grade.BAD, "taken just now 10 %")


def test_packets_of_the_front_ends_must_pass_the_interface(look: Examined) -> None:
    files = {f"{NET}/eth0/mtu": "1500"}
    assert look("mtu", files).result == Grade.COULD_BE_BETTER
    jumbo = look("mtu", files, "eth0", "source.mtu_bytes=9000")
    assert jumbo.result == Grade.BAD
    assert commands(jumbo) == (), "a larger MTU may cut the host off: not without a person"
    camera = look("mtu", files, "eth0", "chain=camera")
    assert camera.what == "eth0 takes packets of 1500 bytes, front ends send up to 1772"
    assert look("mtu", None, "lo").what == "lo takes packets of 65536 bytes"


def test_gro_needs_checksums_too(look: Examined) -> None:
    finding = look("gro", features={"rx-gro": False, "rx-checksum": False})
    assert commands(finding) == ("ethtool -K eth0 gro on rx on",)
    assert [price.value for price in finding.prices] == [750, 100]
    assert commands(look("gro", features={"rx-gro": True})) == ("ethtool -K eth0 rx on",)
    assert look("gro", None, "eth0", "receive.gro=false").result == Grade.NOT_APPLICABLE


def test_rx_ring(look: Examined) -> None:
    assert commands(look("rx-ring", rx_ring=(512, 8192))) == ("ethtool -G eth0 rx 8192",)
    assert look("rx-ring", rx_ring=(256, 256)).result == Grade.GOOD
    assert look("rx-ring", None, "lo").result == Grade.NOT_APPLICABLE


def test_a_slot_that_is_wide_enough_for_the_port_could_still_be_wider(look: Examined) -> None:
    narrow = made_up.card("eth0", speed=10_000, link="8.0 GT/s PCIe:4", most="8.0 GT/s PCIe:8", queue_cores=["1"])
    assert look("pcie", narrow).result == Grade.COULD_BE_BETTER
    assert look("pcie", {f"{NET}/eth0/device/current_link_speed": "Unknown"}).result == Grade.CANNOT_TELL


def test_interrupts_stay_away_from_pinned_cores(look: Examined) -> None:
    cores = "threads.cores=[14, 1]"
    assert look("irq").what == "2 interrupts of eth0 on cores 14-15"
    assert commands(look("irq", None, "eth0", cores)) == ("echo 0 > /proc/irq/40/smp_affinity_list",)
    assert look("irq", None, "eth0", cores, "threads.wait=spin").result == Grade.BAD
    one_core = made_up.card("eth0", queue_cores=["3"] * 4)
    assert look("irq", one_core).what == "4 interrupts of eth0 on cores 3 alone"
    moved = {"proc/irq/40/effective_affinity_list": "5"}
    assert look("irq", moved).what == "2 interrupts of eth0 on cores 5,15"


def test_a_virtual_card_has_the_interrupts_of_what_it_sits_on(tmp_path: Path) -> None:
    files = made_up.well_kept() | made_up.card("eth0", queue_cores=["2"])
    host = made_up.host(tmp_path, {path: text for path, text in files.items() if "/eth0/device/" not in path})
    device = "sys/devices/pci0000:00/0000:00:03.0"
    made_up.write(tmp_path, {f"{device}/numa_node": "0", f"{device}/msi_irqs/40": "", f"{device}/virtio2/vendor": "1"})
    (tmp_path / NET / "eth0/device").symlink_to("../../../devices/pci0000:00/0000:00:03.0/virtio2")
    [finding] = examine(host, subject(), ["irq"])
    assert finding.what == "1 interrupts of eth0 on cores 2"


@pytest.mark.parametrize(
    ("settings", "n_cores", "result"),
    [
        ([], 3, Grade.GOOD),
        ([], 2, Grade.COULD_BE_BETTER),
        (["threads.wait=spin"], 3, Grade.BAD),
        (["threads.wait=spin"], 4, Grade.GOOD),
        (["trigger.threads=4"], 5, Grade.COULD_BE_BETTER),
        (["threads.cores=[0, 7]"], 4, Grade.BAD),
        (["threads.cores=[1, 1]"], 4, Grade.COULD_BE_BETTER),
    ],
)
def test_cores_for_threads(look: Examined, settings: list[str], n_cores: int, result: Grade) -> None:
    assert look("cores", None, "eth0", *settings, allowed_cores=frozenset(range(n_cores))).result == result


def test_isolation_asks_for_more_when_threads_spin(look: Examined) -> None:
    pinned = "threads.cores=[2, 3]"
    isolated = {f"{CPU}/isolated": "2-3", f"{CPU}/nohz_full": "(null)"}
    assert look("isolation", isolated, "eth0", pinned).result == Grade.GOOD
    assert "nohz_full" in look("isolation", isolated, "eth0", pinned, "threads.wait=spin").what
    assert look("isolation").result == Grade.NOT_APPLICABLE


def test_governor_is_set_on_all_cores(look: Examined) -> None:
    finding = look("governor", {f"{CPU}/cpu3/cpufreq/scaling_governor": "powersave"})
    assert finding.what == "performance on 15 cores, powersave on 1 cores"
    assert commands(finding) == (f"echo performance | tee /{CPU}/cpu*/cpufreq/scaling_governor",)


def test_idle_states_that_are_switched_off_cost_nothing(look: Examined) -> None:
    states = made_up.idle_states(0, "POLL:0", "C1:2", "C6:133")
    assert commands(look("idle-states", states)) == (f"echo 1 | tee /{CPU}/cpu*/cpuidle/state2/disable",)
    assert look("idle-states", states | {f"{CPU}/cpu0/cpuidle/state2/disable": "1"}).result == Grade.GOOD


def test_a_slow_clock(look: Examined) -> None:
    folder = "sys/devices/system/clocksource/clocksource0"
    finding = look("clock", {f"{folder}/current_clocksource": "hpet"}, clock_ns=900.0)
    assert (finding.result, str(finding.prices[0])) == (Grade.BAD, "a reading takes 900 ns")
    assert commands(finding) == (f"echo tsc > /{folder}/current_clocksource",)
    only = {f"{folder}/current_clocksource": "hpet", f"{folder}/available_clocksource": "hpet acpi_pm"}
    assert commands(look("clock", only)) == ()


def test_real_time_threads_that_spin_are_stopped(look: Examined) -> None:
    spin = "threads.wait=spin"
    assert look("rt-throttling", None, "eth0", spin).result == Grade.GOOD
    assert look("rt-throttling", None, "eth0", spin, is_real_time=True).result == Grade.BAD
    off = {"proc/sys/kernel/sched_rt_runtime_us": "-1"}
    assert look("rt-throttling", off, "eth0", spin, is_real_time=True).result == Grade.GOOD


def test_the_narrowest_quota_counts(look: Examined) -> None:
    files = {
        "proc/self/cgroup": "0::/slice/../job",
        "sys/fs/cgroup/slice/cpu.max": "400000 100000",
        "sys/fs/cgroup/slice/job/cpu.max": "max 100000",
    }
    finding = look("cpu-quota", files)
    assert finding.result == Grade.COULD_BE_BETTER
    assert commands(finding) == ("echo max > /sys/fs/cgroup/slice/cpu.max",)


def test_quotas_of_the_old_kind(look: Examined) -> None:
    group = "sys/fs/cgroup/cpu,cpuacct/job"
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/job\n3:memory:/job",
        f"{group}/cpu.cfs_quota_us": "200000",
        f"{group}/cpu.cfs_period_us": "100000",
    }
    assert look("cpu-quota", files).result == Grade.BAD
    assert look("cpu-quota", files | {f"{group}/cpu.cfs_quota_us": "-1"}).result == Grade.GOOD


@pytest.mark.parametrize(
    ("late_s", "result"), [(60e-6, Grade.GOOD), (400e-6, Grade.COULD_BE_BETTER), (4e-3, Grade.BAD)]
)
def test_hiccups(look: Examined, late_s: float, result: Grade) -> None:
    assert look("hiccups", hiccup_s=late_s).result == result


def test_huge_pages_are_missed_by_those_who_ask_for_them(look: Examined) -> None:
    answers = {"huge_page_refusal": "Cannot allocate memory", "page_cost": PageCost(10.0, None, "")}
    none = {"proc/sys/vm/nr_hugepages": "0"}
    assert look("huge-pages", none, **answers).result == Grade.GOOD
    finding = look("huge-pages", none, "eth0", "receive.memory=huge", **answers)
    assert commands(finding) == ("sysctl -w vm.nr_hugepages=512",)
    little = none | {"proc/meminfo": "MemAvailable: 131072 kB"}
    assert commands(look("huge-pages", little, "eth0", "receive.memory=huge", **answers)) == (
        "sysctl -w vm.nr_hugepages=8",
    )


def test_transparent_huge_pages(look: Examined) -> None:
    folder = "sys/kernel/mm/transparent_hugepage"
    finding = look("thp", {f"{folder}/enabled": "always madvise [never]"})
    assert commands(finding) == (f"echo madvise | tee /{folder}/enabled",)
    assert look("thp", {f"{folder}/enabled": "nothing chosen"}).result == Grade.CANNOT_TELL


def test_memory_lock(look: Examined) -> None:
    assert look("memory-lock", memory_lock_bytes=8 << 20).what == "8 MiB may be locked"
    assert look("memory-lock", memory_lock_bytes=2 << 30).result == Grade.GOOD


def test_receive_backends_and_why_not(look: Examined) -> None:
    backends = [
        {"name": "socket", "available": True, "reason": "", "mode": "recvmmsg"},
        {"name": "pcap", "available": False, "reason": "needs CAP_NET_RAW", "mode": ""},
    ]
    finding = look("receive-backends", receive_backends=backends)
    assert (finding.result, finding.what) == (Grade.GOOD, "usable: socket (recvmmsg); not: pcap: needs CAP_NET_RAW")
    wanted = look(
        "receive-backends", None, "eth0", "receive.backend=pcap", "receive.pcap_file=x", receive_backends=backends
    )
    assert wanted.result == Grade.BAD


def test_a_gpu_is_missed_by_those_who_insist_on_one(look: Examined) -> None:
    refusal = {"cuda_refusal": "no driver"}
    assert look("cuda", **refusal).result == Grade.NOT_APPLICABLE
    assert look("cuda", None, "eth0", "trigger.backend=cuda", **refusal).result == Grade.BAD
    assert look("cuda", None, "eth0", "trigger.backend=cpu").result == Grade.NOT_APPLICABLE
    assert look("cuda", None, "eth0", "chain=camera", **refusal).result == Grade.NOT_APPLICABLE
    assert look("cuda").result == Grade.GOOD


def test_receive_cost(look: Examined) -> None:
    assert look("receive-cost").what == "loopback, 1.33 M datagrams/s on one core without GRO"
    assert look("receive-cost", receive_cost=ReceiveCost(750.0, None)).result == Grade.COULD_BE_BETTER
    assert look("receive-cost", receive_cost=CannotTell("lost")).what == "lost"


# --- Which interface ----------------------------------------------------------------------------------------------
def test_the_interface_is_named_or_has_the_address_or_leads_out(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.well_kept())
    assert make_subject(host, None, "lo").interface == "lo"
    assert make_subject(host, load(None), None).interface == "lo"  # receive.host = 127.0.0.1
    assert make_subject(host, load(None, ["receive.host=0.0.0.0"]), None).interface == "eth0"
    assert make_subject(host, None, None).interface == "eth0"
    assert make_subject(made_up.host(tmp_path / "empty", {}), None, None).interface == "lo"


@pytest.mark.parametrize("name", ["eth7", "", ".", "../net/eth0", "-K", "$(id)", "a b"])
def test_other_interfaces_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="--interface: must be one of eth0, lo"):
        make_subject(made_up.host(tmp_path, made_up.well_kept()), None, name)


# --- Parts --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["", "0", "0-3,8", "1,3,5-7"])
def test_lists_of_cores_are_read_as_they_are_shown(text: str) -> None:
    assert show_cores(parse_cores(text)) == text


@pytest.mark.parametrize("text", ["x", "1-", "1;2", "-3"])
def test_what_is_no_list_of_cores_is_not_guessed_at(text: str) -> None:
    with pytest.raises(CannotTell):
        parse_cores(text)


def test_a_list_of_cores_has_an_end() -> None:
    assert len(parse_cores("0-999999")) <= 4097


@pytest.mark.process
def test_every_command_is_a_shell_s(tmp_path: Path) -> None:
    for i, files in enumerate((made_up.numa_server(), made_up.laptop(), made_up.container())):
        host = made_up.host(tmp_path / str(i), files, socket_buffer=1, memory_lock_bytes=1, rx_ring=(1, 9), features={})
        for finding in examine(host, subject("eth0", "threads.cores=[14]", "receive.memory=huge")):
            for line in (*finding.fix.commands, finding.fix.persist) if finding.fix else ():
                done = subprocess.run(["sh", "-n", "-c", line], capture_output=True, text=True, check=False)
                assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.process
def test_commands_that_write_files_write_them(tmp_path: Path) -> None:
    """Each fix, applied below a root of its own, removes its finding."""
    server = made_up.numa_server() | made_up.idle_states(0, "POLL:0", "C1:2", "C6:133", "C10:1048")
    for core in range(32):
        server[f"{CPU}/cpu{core}/cpufreq/scaling_governor"] = "powersave"
    server |= {
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
        "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]",
        "proc/self/cgroup": "0::/it's $(touch mine); a job",
        "sys/fs/cgroup/it's $(touch mine); a job/cpu.max": "150000 100000",
    }
    host = made_up.host(tmp_path, server, allowed_cores=frozenset(range(32)))
    wanted = subject("ens1f0", "threads.cores=[9, 10]")
    checks = ["irq", "governor", "idle-states", "clock", "cpu-quota"]
    for finding in examine(host, wanted, [*checks, "thp"]):
        for command in commands(finding):
            below = command.replace("/sys/", f"{tmp_path}/sys/").replace("/proc/", f"{tmp_path}/proc/")
            subprocess.run(["sh", "-c", below], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "sys/fs/cgroup/it's $(touch mine); a job/cpu.max").write_text(
        "max 100000"
    )  # the kernel adds the period
    assert {finding.result for finding in examine(host, wanted, checks)} == {Grade.GOOD}
    assert (tmp_path / "sys/kernel/mm/transparent_hugepage/enabled").read_text() == "madvise\n"
    assert not (tmp_path / "mine").exists()


def test_is_bad_when_one_finding_is(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.well_kept(), hiccup_s=1.0)
    assert is_bad(examine(host, subject()))
    assert not is_bad(examine(host, subject(), ["clock"]))


# --- Several processors, and several nodes ----------------------------------------------------------------------------
def two_processors() -> Files:
    """The server of two nodes, each of them a processor with a cache that its cores share."""
    files = made_up.numa_server()
    for core in range(32):
        place, node = f"{CPU}/cpu{core}", core % 16 // 8
        files |= {f"{place}/topology/physical_package_id": str(node), f"{place}/topology/core_id": str(core % 16)}
        for index, (level, kind, size, shared) in enumerate((
            ("1", "Data", "32K", f"{core % 16},{core % 16 + 16}"), ("1", "Instruction", "32K", str(core)),
            ("3", "Unified", "32768K", "0-7,16-23" if node == 0 else "8-15,24-31"),
        )):  # fmt: skip
            path = f"{place}/cache/index{index}"
            files |= {f"{path}/level": level, f"{path}/type": kind, f"{path}/size": size,
                      f"{path}/shared_cpu_list": shared}  # fmt: skip
    return files


def test_memory_that_firmware_interleaves(look: Examined) -> None:
    assert look("interleaving").result == Grade.NOT_APPLICABLE
    assert look("interleaving", two_processors()).what == "2 processors, 2 memory nodes"
    files = two_processors() | {f"{made_up.NODES}/node0/cpulist": "0-31", f"{made_up.NODES}/node1/cpulist": ""}
    finding = look("interleaving", files)
    assert finding.result == Grade.COULD_BE_BETTER
    assert finding.what == "2 processors, 1 memory node: memory is interleaved, no thread has its own near it"


def test_threads_on_the_far_processor(look: Examined) -> None:
    files = two_processors()
    assert look("far-threads", files).what == "threads.cores pins none"
    near = look("far-threads", files, "ens1f0", "threads.cores=[8, 24]")
    assert (near.result, near.what) == (Grade.GOOD, "threads.cores 8,24 are on node 1")
    far = look("far-threads", files, "ens1f0", "threads.cores=[8, 9, 0]")
    assert (far.result, far.what) == (Grade.COULD_BE_BETTER, "threads.cores: 0 on node 0, 8-9 on node 1")
    assert far.fix is not None
    assert far.fix.advice == "in the configuration: threads.cores from 8-15,24-31"


def test_the_picture_of_a_machine(tmp_path: Path) -> None:
    found = topology.read(made_up.host(tmp_path, two_processors()))
    text = list(topology.lines(found))
    assert text[:4] == [
        "package 0", "  memory node 0, 62.5 GiB", "    L3 32768K, logical cores 0-7,16-23",
        "    core 0: logical 0,16; L1 32K",
    ]  # fmt: skip
    assert "    card ens1f0: 100 Gb/s, PCIe x8 at 8.0 GT/s" in text[text.index("package 1") :]
    assert found.in_order_of_use(frozenset({0, 1, 8, 16, 24})) == [0, 1, 8, 16, 24]
    assert topology.as_dict(found)["memory_kb"] == {"0": 65536000, "1": 65536000}


def test_a_machine_without_a_picture_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match=r"topology: there is none"):
        topology.read(made_up.host(tmp_path, made_up.container()))


def test_an_exchange_needs_no_front_ends_but_a_fabric(look: Examined) -> None:
    exchange = ("eth0", "chain=exchange")
    for check in ("socket-buffer", "udp-memory", "gro", "udp-gso", "receive-backends"):
        finding = look(check, None, *exchange)
        assert (finding.result, finding.what) == (Grade.NOT_APPLICABLE, "the chain exchange has no front ends"), check
    transports = [{"name": "tcp", "available": True, "mode": ""},
                  {"name": "ucx", "available": False, "reason": "built without UCX"}]  # fmt: skip
    finding = look("fabric", None, *exchange, fabric_transports=transports)
    assert finding.result == Grade.BAD
    assert finding.what == "fabric.transport = ucx does not work here: built without UCX; usable: tcp"
    assert look("fabric", None, *exchange, "fabric.transport=tcp", fabric_transports=transports).result == Grade.GOOD
    assert look("fabric").result == Grade.NOT_APPLICABLE


# --- What a finding costs in latency ------------------------------------------------------------------------------
def cost(finding: Finding) -> tuple[str, float, str]:
    assert finding.cost is not None
    return str(finding.cost.basis), finding.cost.us, str(finding.cost)


def test_what_can_be_measured_is(look: Examined) -> None:
    assert cost(look("hiccups", hiccup_s=300e-6)) == ("measured", pytest.approx(300), "300 µs")
    assert cost(look("hiccups", hiccup_s=50e-6)) == ("measured", pytest.approx(50), "50 µs")
    assert cost(look("idle-states", made_up.idle_states(0, "C6:133"), wake_up_s=900e-6))[:2] == (
        "measured",
        pytest.approx(900),
    )
    hpet = {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"}
    assert cost(look("clock", hpet, clock_ns=900.0)) == ("measured", pytest.approx(9), "9 µs")


def test_what_real_time_priority_gains_is_measured(look: Examined) -> None:
    finding = look("real-time", real_time_delays_s=(400e-6, 60e-6))
    assert (finding.result, finding.cost) == (Grade.GOOD, None)
    assert str(finding.prices[0]) == "one arrival in 1000 waits 400 µs without it, with it 60 µs"


def test_without_the_right_to_real_time_another_program_has_its_turn_first(look: Examined) -> None:
    finding = look("real-time", real_time_delays_s=None)
    assert finding.result == Grade.COULD_BE_BETTER
    assert cost(finding) == ("estimated", 2800, "≤ 2,800 µs")
    files = {"sys/kernel/debug/sched/base_slice_ns": "1400000"}
    assert cost(look("real-time", files, real_time_delays_s=None))[1] == pytest.approx(1400)
    assert cost(look("real-time", real_time_delays_s=None, allowed_cores=frozenset({0, 1})))[1] == 1400


def test_what_the_mechanism_can_take_at_once_is_estimated(look: Examined) -> None:
    on = {"proc/sys/kernel/sched_autogroup_enabled": "1"}
    assert cost(look("autogroup", on)) == ("estimated", 2800, "≤ 2,800 µs")
    quota = {"proc/self/cgroup": "0::/g", "sys/fs/cgroup/g/cpu.max": "150000 50000"}
    assert cost(look("cpu-quota", quota))[:2] == ("estimated", 50_000)
    throttled = {"proc/sys/kernel/sched_rt_period_us": "1000000"}
    assert cost(look("rt-throttling", throttled, is_real_time=True))[:2] == ("estimated", 50_000)
    slow = {f"{made_up.CPU}/cpu0/cpufreq/scaling_governor": "powersave",
            f"{made_up.CPU}/cpu0/cpufreq/cpuinfo_transition_latency": "20000"}  # fmt: skip
    assert cost(look("governor", slow))[:2] == ("estimated", 20)


def test_small_buffers_cost_losses_and_no_latency(look: Examined) -> None:
    assert cost(look("socket-buffer", socket_buffer=1000)) == ("losses", 0.0, "losses")
    assert look("socket-buffer").cost is None


def test_what_is_not_told_has_no_price(look: Examined) -> None:
    finding = look("governor", {f"{made_up.CPU}/cpu0/cpufreq/scaling_governor": "powersave"})
    assert (finding.result, finding.cost) == (Grade.COULD_BE_BETTER, None)


def test_findings_of_one_kind_are_in_the_order_of_their_price(tmp_path: Path) -> None:
    findings = examine(made_up.host(tmp_path, made_up.laptop(), wake_up_s=900e-6), subject())
    better = [finding for finding in findings if finding.result == Grade.COULD_BE_BETTER]
    prices = [finding.cost.us if finding.cost else 0.0 for finding in better]
    assert prices == sorted(prices, reverse=True)
    assert prices[0] > prices[1] > 0
