# SPDX-License-Identifier: Apache-2.0
"""Plans of farms, compared with calculations by hand and with published numbers."""

import threading
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

import pytest

from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.plan.command import Options
from anello.plan.farm import PROTOCOLS, Costs, Farm
from anello.plan.simulation import SimulationResult, simulate, simulate_all

FREE = Costs(0.0, 0.0, "nothing costs anything", own_share=0.0)
MESSAGE_BYTES, LINK_GBPS = 1_000_000.0, 100.0
MESSAGE_NS = MESSAGE_BYTES * 8 / LINK_GBPS
SMALL = Farm(
    payload_bytes=MESSAGE_BYTES, message_bytes=MESSAGE_BYTES, costs=FREE, jitter_ns=0.0, n_meps=600,
    packet_overhead_bytes=0,
)  # fmt: skip
TREE = replace(SMALL, n_nodes=16, protocol="shift", nodes_per_leaf=4, n_spines=4, n_meps=640, jitter_ns=1000.0)


def small(**changes: Any) -> SimulationResult:
    return simulate(replace(SMALL, **changes))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_nodes_fill_their_links(protocol: str) -> None:
    """Half of what a node builds is its own and takes no link."""
    result = small(protocol=protocol)
    assert result.card_gbps == pytest.approx(LINK_GBPS, rel=0.01)
    assert result.built_gbps == pytest.approx(2 * LINK_GBPS, rel=0.02)


@pytest.mark.parametrize("protocol", ["push", "pull"])
def test_words_to_the_manager_find_room_beside_data(protocol: str) -> None:
    """The transport takes two messages for a node at a time; otherwise credits and requests would wait for MFPs."""
    assert small(protocol=protocol, max_in_flight=2).card_gbps > 0.95 * LINK_GBPS


def test_headers_take_their_share() -> None:
    assert small(packet_overhead_bytes=1024).built_gbps == pytest.approx(2 * LINK_GBPS / 1.25, rel=0.02)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_bound_by_the_processor(protocol: str) -> None:
    """One thread spends the cost of a message for each one that it sends or receives."""
    cost_ns = 200_000.0
    costs = Costs(per_message_ns=0.0, per_byte_ns=cost_ns / MESSAGE_BYTES, own_share=1.0)
    one = small(protocol=protocol, n_nodes=4, costs=costs)
    assert one.built_gbps == pytest.approx(MESSAGE_BYTES * 8 / (2 * cost_ns), rel=0.05)
    assert one.busy_mean == pytest.approx(1, abs=0.03)
    shared = small(protocol=protocol, n_nodes=4, costs=costs, n_cores=2, link_gbps=0.0)
    assert shared.built_gbps == pytest.approx(one.built_gbps / 2, rel=0.06)


def test_what_stays_on_its_node_may_cost_less() -> None:
    """With four nodes on two cores, a quarter of the messages stays, at a tenth of the cost."""
    costs = Costs(per_message_ns=0.0, per_byte_ns=0.2, own_share=0.1)
    result = small(n_nodes=4, costs=costs, n_cores=2, link_gbps=0.0)
    message_ns = 2 * 0.2 * MESSAGE_BYTES * (0.75 + 0.25 * 0.1)
    assert result.built_gbps == pytest.approx(2 / 4 * MESSAGE_BYTES * 8 / message_ns, rel=0.05)


@pytest.mark.parametrize("routing", ["destination", "spread"])
def test_bound_by_cables_between_switches(routing: str) -> None:
    """Each of 8 nodes on 2 leaf switches sends 4 of 8 messages across; 4 nodes share one cable."""
    farm = replace(SMALL, n_nodes=8, nodes_per_leaf=4, n_spines=1, routing=routing, protocol="shift")
    result = simulate(farm)
    assert result.built_gbps == pytest.approx(8 * MESSAGE_BYTES * 8 / (16 * MESSAGE_NS), rel=0.04)
    assert result.load_mean["up"] == pytest.approx(1, abs=0.03)
    assert result.stalled_mean["out"] > 0.3
    assert simulate(replace(farm, n_spines=4)).card_gbps == pytest.approx(100, rel=0.04)
    assert simulate(replace(farm, uplink_gbps=400.0)).card_gbps == pytest.approx(100, rel=0.04)


def test_a_port_holds_a_cell_at_least() -> None:
    with pytest.raises(ConfigError, match=r"--port-kb: must hold a cell.*given: 1\.0"):
        small(port_bytes=1024)


def test_a_card_may_have_less_both_ways_than_each() -> None:
    one = small(protocol="shift", card_sum_gbps=150.0)
    assert one.card_gbps == pytest.approx(75, rel=0.02)


def test_cut_cables() -> None:
    farm = replace(SMALL, n_nodes=8, nodes_per_leaf=4, n_spines=4, protocol="shift")
    cut = simulate(replace(farm, n_failed_links=2))
    assert cut.built_gbps < 0.9 * simulate(farm).built_gbps
    with pytest.raises(ConfigError, match=r"--failed-links: must leave a way between any two .*given: 7"):
        simulate(replace(farm, n_failed_links=7))


def test_protocols_differ_as_switches_have_an_end_of_buffers() -> None:
    """Out of step, and with push, messages meet; a port with more room helps."""
    in_step, out_of_step = simulate(TREE), simulate(replace(TREE, steps_ahead=0))
    push = simulate(replace(TREE, protocol="push"))
    assert in_step.card_gbps > 90
    assert out_of_step.card_gbps < 0.7 * in_step.card_gbps
    assert push.card_gbps < 0.9 * in_step.card_gbps
    assert in_step.stalled_mean["out"] < 0.05 < out_of_step.stalled_mean["out"]
    assert simulate(replace(TREE, protocol="push", port_bytes=16 << 20)).card_gbps > push.card_gbps


def test_what_is_offered_is_carried_or_not() -> None:
    # 200 Gb/s per node is all that two nodes can do.
    carried = small(mep_interval_ns=MESSAGE_NS / 2 / 0.9)
    assert carried.carries
    assert carried.built_gbps == pytest.approx(180, rel=0.01)
    assert carried.readout_high < 16
    assert carried.latency_us["p99"] < 10 * MESSAGE_NS * 1e-3
    too_much = small(mep_interval_ns=MESSAGE_NS / 2 / 1.2)
    assert not too_much.carries
    assert too_much.behind_us > 0
    assert too_much.readout_high == SMALL.n_buffers


def test_shift_needs_buffers_for_a_round() -> None:
    with pytest.raises(ConfigError, match="--buffers: must be above the number of nodes, 16"):
        small(protocol="shift", n_nodes=16, n_buffers=16)
    assert small(protocol="shift", n_nodes=16, n_buffers=17, n_meps=64).n_incomplete == 0


def test_a_seed_makes_a_run() -> None:
    farm = replace(SMALL, n_nodes=8, jitter_ns=2000.0, n_meps=160)
    first, again, other = (replace(simulate(replace(farm, seed=seed)), seconds=0.0) for seed in (1, 1, 2))
    assert first == again
    assert first.latency_us != other.latency_us
    assert first.built_gbps == pytest.approx(other.built_gbps, rel=0.1)


@pytest.mark.parametrize("steps_ahead", [0, pytest.param(4, marks=pytest.mark.long)])
def test_how_finely_it_is_simulated_matters_little(steps_ahead: int) -> None:
    farm = replace(TREE, steps_ahead=steps_ahead)
    built = simulate(farm).built_gbps
    for changes in ({"cell_bytes": 4096}, {"n_meps": 1280}, {"seed": 7}):
        assert simulate(replace(farm, **changes)).built_gbps == pytest.approx(built, rel=0.12), changes  # type: ignore[arg-type]


def test_many_on_all_cores_are_the_same() -> None:
    many = [replace(SMALL, n_nodes=n, n_meps=100) for n in (2, 3, 4)]
    alone = [replace(simulate(farm), seconds=0.0) for farm in many]
    together = [replace(result, seconds=0.0) for result in simulate_all(many, 2)]
    assert sorted(together, key=lambda one: one.farm.n_nodes) == alone


def test_what_is_no_longer_wanted_is_not_simulated_to_its_end() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(CancelledError):
        simulate(replace(SMALL, n_meps=10_000_000), stop=stop)


def test_whoever_takes_no_more_results_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []

    def waiting(farm: Farm, stop: threading.Event) -> SimulationResult:
        if farm.n_nodes > 2:
            stopped.append(stop.wait(60))
            raise CancelledError
        return SimulationResult(farm)

    monkeypatch.setattr("anello.plan.simulation.simulate", waiting)
    results = simulate_all([replace(SMALL, n_nodes=n) for n in (2, 4)], 2)
    assert next(results).farm.n_nodes == 2
    results.close()  # type: ignore[attr-defined]
    assert stopped == [True]


def test_published_two_nodes() -> None:
    """98 % of a link of 54.3 Gb/s between two nodes (LHCb), with InfiniBand's headers: 26 bytes on 4096."""
    farm = replace(SMALL, costs=Costs(), jitter_ns=1000.0, link_gbps=54.3, packet_overhead_bytes=26)
    payload_gbps = simulate(farm).card_gbps / (1 + 26 / 4096)
    assert payload_gbps / 54.3 == pytest.approx(0.98, abs=0.02)


def test_published_galileo() -> None:
    """Cards of 27.2 Gb/s one way and 24.7 both ways at once: the farm stays at or below that."""
    asked = Options(
        n_nodes=16, link_gbps=27.2, card_sum_gbps=49.4, uplink_gbps=32.0, radix=36, packet_overhead_bytes=26,
        protocol="shift",
    )  # fmt: skip
    card_gbps = simulate(replace(asked.farm(ExchangeConfig()), message_bytes=1e6, payload_bytes=1e6)).card_gbps
    assert 0.95 * 24.7 < card_gbps <= 24.75
