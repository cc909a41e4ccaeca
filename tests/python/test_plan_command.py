# SPDX-License-Identifier: Apache-2.0
"""anello plan as a user meets it: calibration, options, terminal, plan.json, plan.html."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from anello.cli import app
from anello.errors import ConfigError, InputError
from anello.exchange.configuration.config import ExchangeConfig
from anello.plan.calibration import calibrate
from anello.plan.command import EXIT_NOT_CARRIED, Options
from anello.plan.farm import Costs


def plan(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def summary_file(path: Path, n_messages: int, message_bytes: int, per_message_ns: float, per_byte_ns: float) -> Path:
    """Summary of a made-up run of two nodes that paid these costs on both sides."""
    cpu_s = 2 * n_messages * (per_message_ns + per_byte_ns * message_bytes) * 1e-9
    builder = {"mfps_received": n_messages // 2, "bytes_built": n_messages * message_bytes // 2}
    counters = {"node0.builder": builder, "node1.builder": builder, "node1.readout": {"mfps_sent": n_messages}}
    nodes = [{"cores": cpu_s / 4, "wall_s": 2.0, "roles": "ru+bu", "meps_complete": n_messages // 4}] * 2
    path.write_text(json.dumps({"counters": {"node": counters}, "nodes": nodes}))
    return path


def test_two_runs_tell_both_costs(tmp_path: Path) -> None:
    files = [summary_file(tmp_path / f"{size}.json", 10_000, size, 1500.0, 0.25) for size in (10_000, 120_000)]
    costs = calibrate(files, Costs())
    assert costs.per_message_ns == pytest.approx(1500, rel=1e-6)
    assert costs.per_byte_ns == pytest.approx(0.25, rel=1e-6)
    assert str(files[1]) in costs.source


def test_one_run_tells_the_cost_of_a_byte(tmp_path: Path) -> None:
    file = summary_file(tmp_path / "one.json", 10_000, 120_000, 700.0, 0.1)
    costs = calibrate([file], Costs(per_message_ns=700.0))
    assert costs.per_byte_ns == pytest.approx(0.1, rel=1e-6)
    assert calibrate([file], Costs(per_message_ns=1e6)).per_byte_ns == 0


def test_a_run_of_one_node_tells_what_stays(tmp_path: Path) -> None:
    """One node has 1000 messages of 10 us; of two nodes, 1000 stay and 1000 move at 20 us on both sides: 50 ms."""
    alone, two = tmp_path / "alone.json", tmp_path / "two.json"
    for path, n_nodes, cpu_s in ((alone, 1, 0.010), (two, 2, 0.050)):
        builders = {f"node{i}.builder": {"mfps_received": 1000, "bytes_built": 10**8} for i in range(n_nodes)}
        node = {"cores": cpu_s / n_nodes, "wall_s": 1.0, "roles": "em+ru+bu", "meps_complete": 1000 // n_nodes}
        path.write_text(json.dumps({"counters": {"node": builders}, "nodes": [node] * n_nodes}))
    costs = calibrate([alone, two], Costs(per_message_ns=1000.0))
    assert costs.per_message_ns + 1e5 * costs.per_byte_ns == pytest.approx(20_000)
    assert costs.own_share * 2 * 20_000 == pytest.approx(10_000)
    assert calibrate([two], Costs(per_message_ns=0.0)).per_byte_ns == pytest.approx(50e6 / 2 / 2000 / 1e5)
    with pytest.raises(InputError, match="Add a run of two nodes"):
        calibrate([alone], Costs())


def test_costs_are_never_negative(tmp_path: Path) -> None:
    files = [
        summary_file(tmp_path / "small.json", 10_000, 10_000, 5000.0, 0.0),
        summary_file(tmp_path / "large.json", 10_000, 120_000, 4000.0, 0.0),
    ]
    costs = calibrate(files, Costs())
    assert costs.per_byte_ns == 0
    assert 4000 < costs.per_message_ns < 5000


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "not json", '{"counters": {"node": {}}, "nodes": []}', '{"counters": {"node": 3}, "nodes": 0}',
     '{"counters": {"node": {"node0.builder": {"mfps_received": 1e400, "bytes_built": 1}}}, "nodes": []}',
     '{"counters": {"node": {"node0.builder": {"mfps_received": "x", "bytes_built": 1}}}, "nodes": []}'],
)  # fmt: skip
def test_what_is_no_summary_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "summary.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"summary\.json"):
        calibrate([path], Costs())
    with pytest.raises(InputError):
        calibrate([tmp_path / "absent.json"], Costs())


def test_a_run_that_was_idle_is_refused(tmp_path: Path) -> None:
    """Such a run would measure the cost of waiting."""
    file = summary_file(tmp_path / "one.json", 10_000, 120_000, 700.0, 0.1)
    summary = json.loads(file.read_text())
    file.write_text(json.dumps(summary | {"config": {"generator.rate_hz": 1000.0}}))
    with pytest.raises(InputError, match="held to 1000 events/s"):
        calibrate([file], Costs())
    file.write_text(json.dumps(summary | {"waited_s": {"anything to do": 3.0}}))
    with pytest.raises(InputError, match="nothing to do for 75 %"):
        calibrate([file], Costs())


def test_a_farm_follows_from_configuration_and_options() -> None:
    config = ExchangeConfig.model_validate(
        {"exchange": {"packing": 100, "credits": 7, "protocol": "pull"}, "generator": {"fragment_mean_bytes": 201}}
    )
    farm = Options(n_nodes=10, radix=30, oversubscription=2.0, demand_tbps=0.8).farm(config)
    assert (farm.protocol, farm.n_credits, farm.nodes_per_leaf, farm.n_spines) == ("pull", 7, 20, 10)
    assert farm.payload_bytes == 20_100
    assert farm.message_bytes == 48 + 100 * (6 + 208)
    assert farm.offered_gbps() == pytest.approx(80)
    by_rate = Options(n_nodes=10).farm(ExchangeConfig.model_validate({"generator": {"rate_hz": 1e6}}))
    assert by_rate.offered_gbps() == pytest.approx(1e6 * 200 * 8e-9)


@pytest.mark.parametrize(
    ("options", "field"),
    [({"n_nodes": 1}, "--nodes"), ({"demand_tbps": 0.0}, "--demand-tbps"), ({"demand_tbps": float("nan")}, "--demand"),
     ({"radix": 1}, "--radix"), ({"radix": 4, "n_nodes": 64}, "--radix"), ({"routing": "x"}, "--routing"),
     ({"protocol": "x"}, "--protocol"), ({"rounds": 0}, "--rounds"), ({"link_gbps": -1.0}, "--link-gbps"),
     ({"latency_us": float("nan")}, "--latency-us"), ({"n_failed_links": 10_000}, "--failed-links"),
     ({"oversubscription": 0.0}, "--oversubscription"), ({"max_in_flight": 0}, "--in-flight"),
     ({"steps_ahead": 65}, "--steps-ahead"), ({"port_kb": 0.0}, "--port-kb"), ({"seed": -1}, "--seed")],
)  # fmt: skip
def test_wrong_options_are_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        Options(**options).farm(ExchangeConfig())


def test_a_plan_from_the_command_line(tmp_path: Path) -> None:
    done = plan("--nodes", 8, "--demand-tbps", 0.5, "--no-curve", "--out", tmp_path, "--set", "exchange.packing=300")
    assert done.exit_code == 0, done.output
    assert "carries 0.5 Tb/s" in done.output
    assert "buffers of a builder unit" in done.output
    left = json.loads((tmp_path / "plan.json").read_text())
    assert left["carries"] is True
    assert left["asked"]["farm"]["payload_bytes"] == 60_000
    assert left["asked"]["built_gbps"] == pytest.approx(62.5, rel=0.01)
    assert "8 nodes" in (tmp_path / "plan.html").read_text()


def test_too_much_is_said_and_ends_with_4(tmp_path: Path) -> None:
    done = plan("--nodes", 4, "--demand-tbps", 4, "--no-curve", "--out", tmp_path, "--protocol", "shift")
    assert done.exit_code == EXIT_NOT_CARRIED, done.output
    assert "does NOT carry 4 Tb/s" in done.output
    assert "ran out of buffers" in done.output


def test_the_curve_has_all_protocols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anello.plan.command.CURVE_NODES", (2, 4))
    done = plan("--nodes", 6, "--demand-tbps", 0.1, "--jobs", 1, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    curve = json.loads((tmp_path / "plan.json").read_text())["curve"]
    assert {(one["farm"]["protocol"], one["farm"]["steps_ahead"], one["farm"]["n_nodes"]) for one in curve} == {
        (protocol, ahead, n)
        for protocol, ahead in (("push", 4), ("pull", 4), ("shift", 4), ("shift", 0))
        for n in (2, 4, 6)
    }
    assert "the maximum is" in done.output


def test_another_chain_is_refused() -> None:
    done = plan("--set", "chain=rich")
    assert isinstance(done.exception, ConfigError)
    assert "exchange" in str(done.exception)


def test_comparison_with_a_run(tmp_path: Path) -> None:
    """A made-up run of two nodes is limited by its two cores: calibrated with it, the simulation must agree with it."""
    import plan_bench

    cost_ns, n_messages, wall_s = 50_000.0, 40_000, 2.0
    file = summary_file(tmp_path / "summary.json", n_messages, 124_848, cost_ns - 1, 1 / 124_848)
    gbps = n_messages * 124_848 * 8e-9 / wall_s
    flat = ExchangeConfig().flat() | {"exchange.protocol": "pull"}
    file.write_text(json.dumps(json.loads(file.read_text()) | {
        "config": flat, "rates": {"built_gbit_per_s": gbps},
    }))  # fmt: skip
    costs = calibrate([file], Costs(per_message_ns=700.0))
    options = argparse.Namespace(cores=2)
    row = plan_bench.compare(json.loads(file.read_text()), costs, True, options)
    assert row["nodes"] == 2
    assert row["simulated"] == pytest.approx(gbps, rel=0.03)
    assert row["error"] == pytest.approx(0, abs=0.03)
