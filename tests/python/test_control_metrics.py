# SPDX-License-Identifier: Apache-2.0
"""The metrics, and what is made of them: the distribution's own Prometheus scrapes, checks and evaluates."""

import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import of_others
import pytest
from exchange_synthetic import N_MEPS
from fake_control import FakeMemory, FakeOperator, FakePages, latency
from fake_farm import FakeFarm, FarmPages
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from anello.control.access.tokens import Tokens
from anello.control.run_sampler import RunSampler
from anello.control.states import State
from anello.control.web.app import create_app
from anello.control.web.metrics import buckets
from anello.control.web.serve import WebServer

ROOT = Path(__file__).resolve().parents[2]
TOKENS = Tokens("v" * 32, "o" * 32)
PATIENCE_S = 60.0


def tool(name: str) -> str:
    """Path of a tool of the distribution's package prometheus, installed or only unpacked (by ./dev test --all)."""
    return of_others.program(name, path=f"{os.environ['PATH']}:{ROOT / 'build/prometheus/usr/bin'}")


@pytest.fixture
def text() -> str:
    return text_of(FakeOperator(State.RUNNING), FakePages())


@pytest.fixture
def text_of_farm() -> str:
    farm = FakeFarm()
    farm.gone.add(2)
    return text_of(farm, FarmPages())


def text_of(operator: FakeOperator, pages: FakePages) -> str:
    sight = RunSampler(operator.status, copy=pages.copy, clock=pages.clock)
    app = create_app(operator, FakeMemory(), sight, TOKENS)
    for _ in range(3):
        pages.advance(0.5)
        sight.look()
    answer = TestClient(app, base_url="http://localhost", headers={"authorization": f"Bearer {TOKENS.viewer}"}).get(
        "/metrics"
    )
    assert answer.headers["content-type"].startswith("text/plain")
    return answer.text


def samples(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_they_say(text: str) -> None:
    said = samples(text)
    assert said["anello_decided_total", ()] == 150_000
    assert said["anello_run_state", ("running",)] == 1
    assert said["anello_run_state", ("error",)] == 0
    assert said["anello_latency_seconds_bucket", ("0.001", "sent_to_decided")] == 149_998
    assert said["anello_latency_seconds_bucket", ("+Inf", "sent_to_decided")] == 150_000
    assert said["anello_buffers", ("receive.stream0", "used")] == 128
    assert said["anello_board_received_total", ("3",)] == 150_000
    assert said["anello_alarms", ("new",)] == 1
    assert said["anello_ledger_rows_off", ()] == 0


def test_what_they_say_of_a_farm(text_of_farm: str) -> None:
    said = samples(text_of_farm)
    assert [said["anello_node_up", (str(node),)] for node in range(3)] == [1, 1, 0]
    n_packets = [said["anello_node_built_packets_total", (str(node),)] for node in range(3)]
    assert n_packets == [N_MEPS * 15 // 10] * 3
    assert said["anello_built_total", ()] == 600 * sum(n_packets)
    assert said["anello_thread_busy_ratio", ("node1.exchange",)] == 0.1
    assert said["anello_buffers", ("builder.node1", "free")] == 19


@pytest.mark.parametrize("which", ["text", "text_of_farm"])
@pytest.mark.long
@pytest.mark.process
def test_names_follow_the_conventions(which: str, request: pytest.FixtureRequest) -> None:
    text = request.getfixturevalue(which)
    checked = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_buckets_rise_and_the_millisecond_is_exact() -> None:
    leg = latency(1000, 900_000)
    found = [n for _, n in buckets(leg)]
    assert found == sorted(found)
    assert dict(buckets(leg))["0.001"] == 998
    assert found[-1] == 1000


@pytest.mark.long
@pytest.mark.process
def test_alarms_are_raised_when_they_should() -> None:
    checked = subprocess.run(
        [tool("promtool"), "test", "rules", str(ROOT / "prometheus/alerts_test.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.process
def test_the_dashboard_is_as_it_is_made() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "grafana/make_dashboard.py"], capture_output=True, text=True, check=True
    )
    assert (ROOT / "grafana/anello.json").read_text() == made.stdout


# --- A Prometheus of its own --------------------------------------------------------------------------------------
class LivelyPages(FakePages):
    """Pages that follow the wall clock; packets are lost all the time, so that every metric has a value."""

    def clock(self) -> int:
        self.now_ns = time.time_ns()
        self.n_lost = (self.now_ns - self.begin_ns) // 100_000_000
        return self.now_ns

    def __init__(self) -> None:
        super().__init__()
        self.begin_ns = time.time_ns()


class LivelyFarm(LivelyPages, FarmPages):
    """The same for a farm."""


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[httpx.Client]:
    """A Prometheus that scrapes two control rooms every half second; one leads a farm."""
    program = tool("prometheus")
    servers = [serve(tmp_path, FakeOperator(State.RUNNING), LivelyPages()), serve(tmp_path, FakeFarm(), LivelyFarm())]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    scrape = {"job_name": "anello", "authorization": {"credentials": TOKENS.viewer},
              "static_configs": [{"targets": [f"127.0.0.1:{server.port}" for server in servers]}]}  # fmt: skip
    config = {"global": {"scrape_interval": "500ms", "evaluation_interval": "1s"}, "scrape_configs": [scrape],
              "rule_files": [str(ROOT / "prometheus/alerts.yml")]}  # fmt: skip
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    arguments = [f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]  # fmt: skip
    process = subprocess.Popen([program, *arguments])
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
            yield http
    finally:
        process.terminate()
        process.wait()
        for server in servers:
            server.stop()


def serve(folder: Path, operator: FakeOperator, pages: FakePages) -> WebServer:
    sight = RunSampler(operator.status, copy=pages.copy, clock=pages.clock)
    return WebServer(create_app(operator, FakeMemory(folder), sight, TOKENS), port=0).start()


def value(http: httpx.Client, expression: str) -> list[Any]:
    try:
        answer = http.get("/api/v1/query", params={"query": expression})
    except httpx.ConnectError:  # it has not begun yet
        return []
    if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:  # it begins
        return []
    found = answer.json()
    assert found["status"] == "success", (expression, found)
    return [float(one["value"][1]) for one in found["data"]["result"]]


def until(http: httpx.Client, expression: str) -> list[Any]:
    """Waits until the expression has values that are numbers."""
    end = time.monotonic() + PATIENCE_S
    while not (found := value(http, expression)) or any(math.isnan(one) for one in found):
        assert time.monotonic() < end, f"no data: {expression}"
        time.sleep(0.2)
    return found


def expressions() -> list[str]:
    panels = json.loads((ROOT / "grafana/anello.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    return [one.replace("$__rate_interval", "10s").replace("$instance", ".+").replace("$leg", ".+") for one in asked]


@pytest.mark.long
@pytest.mark.process
def test_prometheus_scrapes_and_each_expression_of_the_dashboard_has_data(prometheus: httpx.Client) -> None:
    assert until(prometheus, 'count(up{job="anello"} == 1) == 2') == [2]
    assert len(expressions()) > 20
    for expression in expressions():
        until(prometheus, expression)
    until(prometheus, "rate(anello_decided_total[10s]) > 95e3 < 105e3")  # at 100 kHz, once there are ten seconds of it
    assert set(until(prometheus, 'ALERTS{alertname="AnelloLosesData"}')) == {1}
