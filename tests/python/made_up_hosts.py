# SPDX-License-Identifier: Apache-2.0
"""Machines that only exist as files, for the doctor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anello.configuration.load import load
from anello.doctor import Host, Subject
from anello.host.host import CannotTell, PageCost, ReceiveCost

CPU, NET, NODES = "sys/devices/system/cpu", "sys/class/net", "sys/devices/system/node"
GIB = 1 << 30

Files = dict[str, str]


@dataclass
class MadeUpMachine:
    """Gives the answers in `answers`; an answer that is an exception is raised."""

    answers: dict[str, object] = field(default_factory=dict)

    def _answer(self, name: str, default: object) -> object:
        answer = self.answers.get(name, default)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def interface_with(self, address: str) -> str:
        return str(self._answer("interface_with", {"127.0.0.1": "lo"}.get(address, "")))

    def features(self, interface: str) -> Mapping[str, bool]:
        return self._answer("features", {"rx-gro": True, "rx-checksum": True, "tx-udp-segmentation": True})  # type: ignore[return-value]

    def rx_ring(self, interface: str) -> tuple[int, int]:
        return self._answer("rx_ring", (8192, 8192))  # type: ignore[return-value]

    def socket_buffer(self, wanted_bytes: int) -> int:
        return self._answer("socket_buffer", wanted_bytes)  # type: ignore[return-value]

    def udp_gso(self) -> bool:
        return bool(self._answer("udp_gso", True))

    def memory_lock_bytes(self) -> int | None:
        return self._answer("memory_lock_bytes", None)  # type: ignore[return-value]

    def allowed_cores(self) -> frozenset[int]:
        return self._answer("allowed_cores", frozenset(range(16)))  # type: ignore[return-value]

    def is_real_time(self) -> bool:
        return bool(self._answer("is_real_time", False))

    def huge_page_refusal(self) -> str:
        return str(self._answer("huge_page_refusal", ""))

    def receive_backends(self, interface: str) -> list[dict[str, object]]:
        return self._answer("receive_backends", [{"name": "socket", "available": True, "reason": "", "mode": ""}])  # type: ignore[return-value]

    def fabric_transports(self) -> list[dict[str, object]]:
        return self._answer("fabric_transports", [{"name": "tcp", "available": True, "reason": "", "mode": ""}])  # type: ignore[return-value]

    def cuda_refusal(self) -> str:
        return str(self._answer("cuda_refusal", ""))

    def hiccup_s(self) -> float:
        return self._answer("hiccup_s", 50e-6)  # type: ignore[return-value]

    def real_time_delays_s(self) -> tuple[float, float] | None:
        return self._answer("real_time_delays_s", (60e-6, 40e-6))  # type: ignore[return-value]

    def wake_up_s(self) -> float:
        return self._answer("wake_up_s", 3e-6)  # type: ignore[return-value]

    def clock_ns(self) -> float:
        return self._answer("clock_ns", 20.0)  # type: ignore[return-value]

    def page_cost(self) -> PageCost:
        return self._answer("page_cost", PageCost(10.0, 5.0, "reserved huge pages"))  # type: ignore[return-value]

    def receive_cost(self) -> ReceiveCost:
        return self._answer("receive_cost", ReceiveCost(750.0, 100.0))  # type: ignore[return-value]


def host(root: Path, files: Files, **answers: object) -> Host:
    """A host with these files below root."""
    write(root, files)
    return Host(root, MadeUpMachine(answers))


def write(root: Path, files: Files) -> None:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


THREE_THREADS = 'threads.layout=["receive+build", "trigger+emit", "store"]'


def subject(interface: str = "eth0", *settings: str) -> Subject:
    """Configuration from `--set` values: the RICH's, if they name no chain, with three threads."""
    given = settings if any(one.startswith("chain=") for one in settings) else (THREE_THREADS, *settings)
    return Subject(load(None, given), interface)


def snmp(receive_buffer_errors: int = 0) -> str:
    return (
        "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors\n"
        f"Udp: 1000 2 0 1000 {receive_buffer_errors} 0 0 0 0"
    )


def softnet(n_cores: int, dropped: int = 0, squeezed: int = 0) -> str:
    return "\n".join(f"00ff0000 {dropped:08x} {squeezed:08x} 00000000" for _ in range(n_cores))


def stat(steal: int = 0, idle: int = 1000) -> str:
    return f"cpu  100 0 100 {idle} 0 0 0 {steal} 0 0\ncpu0 1 1 1 1"


def well_kept(n_cores: int = 16) -> Files:
    """A server on which nothing is to be done, with a plain card eth0."""
    files = {
        "proc/sys/net/core/rmem_max": str(GIB),
        "proc/sys/net/core/netdev_max_backlog": "30000",
        "proc/sys/net/core/netdev_budget": "600",
        "proc/sys/net/ipv4/udp_mem": "100000\t200000\t400000",
        "proc/sys/kernel/sched_rt_runtime_us": "950000",
        "proc/sys/kernel/sched_autogroup_enabled": "0",
        "proc/sys/vm/nr_hugepages": "512",
        "proc/meminfo": "MemTotal: 65536000 kB\nMemAvailable: 32768000 kB",
        "proc/net/snmp": snmp(),
        "proc/net/softnet_stat": softnet(n_cores),
        "proc/net/route": "Iface\tDestination\tGateway\neth0\t00000000\t0100000A",
        "proc/stat": stat(),
        "proc/self/cgroup": "0::/user.slice",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
        "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
        f"{CPU}/online": f"0-{n_cores - 1}",
        f"{CPU}/isolated": "",
        f"{NODES}/node0/cpulist": f"0-{n_cores - 1}",
        f"{NET}/lo/type": "772",
        f"{NET}/lo/mtu": "65536",
    }
    for core in range(n_cores):
        files |= {f"{CPU}/cpu{core}/topology/thread_siblings_list": str(core),
                  f"{CPU}/cpu{core}/cpufreq/scaling_governor": "performance"}  # fmt: skip
    return files | idle_states(0, "POLL:0", "C1:2") | card("eth0", queue_cores=["14", "15"])


def idle_states(core: int, *states: str) -> Files:
    """states: name:latency in us."""
    files = {}
    for i, state in enumerate(states):
        name, latency = state.split(":")
        path = f"{CPU}/cpu{core}/cpuidle/state{i}"
        files |= {f"{path}/name": name, f"{path}/latency": latency, f"{path}/disable": "0"}
    return files


def card(
    name: str, *, node: int = 0, speed: int = 10_000, link: str = "8.0 GT/s PCIe:8", most: str = "8.0 GT/s PCIe:8",
    queue_cores: list[str], first_irq: int = 40,
) -> Files:  # fmt: skip
    """A card on PCI Express with one interrupt per queue; link: speed:width."""
    device = f"{NET}/{name}/device"
    files = {
        f"{NET}/{name}/type": "1", f"{NET}/{name}/mtu": "9000", f"{NET}/{name}/speed": str(speed),
        f"{device}/numa_node": str(node),
        "proc/interrupts": "            CPU0       CPU1\n  0:         12          0   IO-APIC    2-edge      timer",
    }  # fmt: skip
    for which, text in (("current", link), ("max", most)):
        gt_per_s, width = text.split(":")
        files |= {f"{device}/{which}_link_speed": gt_per_s, f"{device}/{which}_link_width": width}
    for counter in ("rx_missed_errors", "rx_fifo_errors", "rx_dropped"):
        files[f"{NET}/{name}/statistics/{counter}"] = "0"
    for queue, cores in enumerate(queue_cores):
        number = first_irq + queue
        files["proc/interrupts"] += f"\n {number}:       1000          0   PCI-MSI  {queue}-edge   mlx5_comp{queue}"
        files |= {f"{device}/msi_irqs/{number}": "msix", f"proc/irq/{number}/smp_affinity_list": cores}
    return files


def numa_server() -> Files:
    """Two nodes of 16 cores with hyper-threading, a 100G card on node 1 in a slot that is too narrow."""
    files = well_kept(32)
    files |= {f"{NODES}/node0/cpulist": "0-7,16-23", f"{NODES}/node1/cpulist": "8-15,24-31"}
    for core in range(32):
        files[f"{CPU}/cpu{core}/topology/thread_siblings_list"] = f"{core % 16},{core % 16 + 16}"
    return files | card("ens1f0", node=1, speed=100_000, link="8.0 GT/s PCIe:8", most="16.0 GT/s PCIe:16",
                        queue_cores=["8", "9", "10", "11"])  # fmt: skip


def laptop() -> Files:
    """Four cores that save power, a wireless card, and the defaults of a desktop."""
    files = well_kept(4) | idle_states(0, "POLL:0", "C1:2", "C6:133", "C10:1048")
    for core in range(4):
        files[f"{CPU}/cpu{core}/cpufreq/scaling_governor"] = "powersave"
    return files | {
        "proc/sys/net/core/rmem_max": "212992",
        "proc/sys/net/core/netdev_max_backlog": "1000",
        "proc/sys/kernel/sched_autogroup_enabled": "1",
        "proc/sys/vm/nr_hugepages": "0",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        "sys/kernel/mm/transparent_hugepage/defrag": "[always] defer defer+madvise madvise never",
        f"{NET}/eth0/mtu": "1500",
    }


def container() -> Files:
    """A container: hardly any /sys, a virtual interface, a quota of one and a half cores."""
    return {
        "proc/net/snmp": snmp(),
        "proc/stat": stat(),
        "proc/net/route": "Iface\tDestination\tGateway\neth0\t00000000\t0100000A",
        "proc/self/cgroup": "0::/",
        "sys/fs/cgroup/cpu.max": "150000 100000",
        f"{CPU}/online": "0-15",
        f"{NET}/eth0/type": "1",
        f"{NET}/eth0/mtu": "1500",
    }


NO_RIGHTS = {
    "features": PermissionError(1, "Operation not permitted"),
    "rx_ring": PermissionError(1, "Operation not permitted"),
    "huge_page_refusal": "Cannot allocate memory",
    "memory_lock_bytes": 64 << 10,
    "receive_backends": CannotTell("this build of the engine does not tell"),
    "cuda_refusal": CannotTell("the compiled engine cannot be loaded"),
}
