# SPDX-License-Identifier: Apache-2.0
"""Simulates one farm in virtual time, or many farms on all cores."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from anello.engine import _engine
from anello.errors import ConfigError, engine_errors
from anello.plan.farm import Farm

CARRIED = 0.99  # share of the offered load that must be built within the time window
QUANTILES = ("p50", "p99", "p99.9", "max")


@dataclass(frozen=True)
class SimulationResult:
    """Bandwidths are payload, per node, within the time window: from when a quarter of all messages has been
    delivered until three quarters have. Loads are shares of the links' rate, stalls of the time, by kind of link."""

    farm: Farm
    n_built: int = 0
    n_incomplete: int = 0
    window_ns: float = 0.0
    virtual_ns: float = 0.0
    built_gbps: float = 0.0  # payload that a builder receives
    card_gbps: float = 0.0  # bytes that a node's card sends, all headers included
    load_mean: dict[str, float] = field(default_factory=dict)
    load_max: dict[str, float] = field(default_factory=dict)
    stalled_mean: dict[str, float] = field(default_factory=dict)  # the link had data to send, and the next hop no room
    stalled_max: dict[str, float] = field(default_factory=dict)
    port_bytes: dict[str, float] = field(default_factory=dict)  # bytes in the fullest buffer at the end of such links
    latency_us: dict[str, float] = field(default_factory=dict)  # from the first fragment ready to the event built
    readout_high: int = 0  # messages
    builder_high: int = 0  # multi-event packets begun
    behind_us: float = 0.0  # with a required rate: longest wait of a message for a free buffer of its readout unit
    busy_mean: float = 0.0  # share of the time that nodes' threads worked
    busy_max: float = 0.0
    busy_manager: float = 0.0
    n_overruled: int = 0  # messages sent before others were as far, because they had waited too long
    n_events: int = 0
    seconds: float = 0.0  # duration of the simulation

    @property
    def total_tbps(self) -> float:
        return self.built_gbps * self.farm.n_nodes * 1e-3

    @property
    def carries(self) -> bool:
        """True if the offered load is built and readout units never ran out of buffers."""
        return self.built_gbps >= CARRIED * self.farm.offered_gbps() and not self.behind_us

    @property
    def readout_bytes(self) -> float:
        return self.readout_high * self.farm.message_bytes

    @property
    def builder_bytes(self) -> float:
        return self.builder_high * self.farm.n_nodes * self.farm.message_bytes


def simulate(
    farm: Farm, progress: Callable[[float], None] = lambda _: None, stop: threading.Event | None = None
) -> SimulationResult:
    """Simulates a farm. Raises ConfigError, CancelledError where `stop` was set, and RuntimeError where the farm
    stalls."""
    farm.check()
    started = time.monotonic()

    def look(share: float) -> bool:
        progress(share)
        return stop is None or not stop.is_set()

    try:
        with engine_errors():
            measured = _engine.measure_farm(farm.settings(), look)
    except ConfigError as error:
        raise _in_options(error, farm) from error
    if stop is not None and stop.is_set():
        raise CancelledError
    if measured["is_stuck"]:
        raise RuntimeError(
            f"{farm.n_nodes} nodes, {farm.name}: nothing was built any more after {measured['n_built']} packets"
        )
    links = measured["links"]
    per_ns = measured["n_mfps_in_window"] / farm.n_nodes * farm.payload_bytes / measured["window_ns"]
    has_waited = farm.mep_interval_ns > 0 and measured["most_mfps"] >= farm.n_buffers
    return SimulationResult(
        farm,
        measured["n_built"],
        measured["n_incomplete"],
        measured["window_ns"],
        measured["virtual_ns"],
        built_gbps=per_ns * 8,
        card_gbps=links["out"]["load_mean"] * farm.link_gbps if links else 0.0,
        load_mean={kind: link["load_mean"] for kind, link in links.items()},
        load_max={kind: link["load_max"] for kind, link in links.items()},
        stalled_mean={kind: link["stalled_mean"] for kind, link in links.items()},
        stalled_max={kind: link["stalled_max"] for kind, link in links.items()},
        port_bytes={kind: link["most_bytes"] for kind, link in links.items() if kind != "in"},
        latency_us=dict(zip(QUANTILES, measured["ready_to_built_us"], strict=True)),
        readout_high=measured["most_mfps"],
        builder_high=measured["most_meps"],
        behind_us=measured["behind_ns"] * 1e-3 if has_waited else 0.0,
        busy_mean=measured["busy_mean"],
        busy_max=measured["busy_max"],
        busy_manager=measured["busy_manager"],
        n_overruled=measured["n_overruled"],
        n_events=measured["n_events"],
        seconds=time.monotonic() - started,
    )


def _in_options(error: ConfigError, farm: Farm) -> ConfigError:
    """An error that only the engine can find, in terms of the option that the user gave."""
    options: dict[str, tuple[str, object]] = {
        "buffer_bytes": ("--port-kb", farm.port_bytes / 1024),
        "n_failed_cables": ("--failed-links", farm.n_failed_links),
    }
    option, given = options.get(error.field, (error.field, error.given))
    return ConfigError(option, error.rule, str(given), error.remedy)


def simulate_all(farms: Sequence[Farm], n_threads: int) -> Iterator[SimulationResult]:
    """Simulates farms, the largest first, and yields each result when it is ready. Raises ConfigError before
    anything starts. A caller that stops early (Ctrl-C) does not wait for simulations in progress."""
    for farm in farms:
        farm.check()
    ordered = sorted(farms, key=lambda farm: -farm.n_nodes * farm.n_meps)
    stop = threading.Event()
    with ThreadPoolExecutor(max(1, n_threads)) as pool:
        started = [pool.submit(simulate, farm, stop=stop) for farm in ordered]
        try:
            for future in as_completed(started):
                yield future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Plan:
    """A plan. asked: the requested farm; curve: other sizes and protocols, at full load."""

    asked: SimulationResult
    curve: tuple[SimulationResult, ...]

    @property
    def full(self) -> SimulationResult | None:
        """The requested farm at full load."""
        farm = self.asked.farm
        if not farm.mep_interval_ns:
            return self.asked
        same = [one for one in self.curve if (one.farm.n_nodes, one.farm.name) == (farm.n_nodes, farm.name)]
        return same[0] if same else None
