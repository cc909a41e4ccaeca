# SPDX-License-Identifier: Apache-2.0
"""The API on a real catalogue."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from catalogue_synthetic import origin
from fake_control import FakeOperator
from fastapi.testclient import TestClient

from anello.account.run_state import RunState
from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.catalogue.end import End, Leg, LossCount
from anello.control.access.tokens import Tokens
from anello.control.run_sampler import RunSampler
from anello.control.web.app import create_app
from anello.control.web.remembered import Remembered

TOKENS = Tokens("v" * 32, "o" * 32)


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with Catalogue(of_runs_in(tmp_path)) as opened:
        for seconds in (1.0, 2.0):
            number = opened.runs.begin(origin(), tmp_path)
            opened.notices.add(number, ["board 2 is silent"])
            opened.runs.end(number, End(
                RunState.ENDED, exit_code=0, balanced=True, events=1000, lost=3, bytes=1 << 40, seconds=seconds,
                leg="a_to_b", p50_ns=1e5, p999_ns=9e5, quality_found={"efficiency": float("nan")},
                losses=[LossCount("packets lost", 3)], latency={"a_to_b": Leg(1000, [(1e5, 1.03e5, 1000)])},
                counters={"node": {"build": {"events": 1000, "all_ones": 2**64 - 1}}},
            ))  # fmt: skip
        yield opened


@pytest.fixture
def http(catalogue: Catalogue) -> TestClient:
    operator = FakeOperator()
    app = create_app(operator, Remembered(catalogue), RunSampler(operator.status), TOKENS)
    return TestClient(app, base_url="http://localhost", headers={"authorization": f"Bearer {TOKENS.operator}"})


def test_runs(http: TestClient) -> None:
    assert [row["number"] for row in http.get("/api/v1/runs").json()] == [2, 1]
    assert [row["number"] for row in http.get("/api/v1/runs?before=2&state=ended&limit=5").json()] == [1]
    assert http.get("/api/v1/runs?quality=good").json() == []
    run = http.get("/api/v1/runs/2").json()
    assert run["rate_hz"] == 500
    assert run["quality_found"] == {"efficiency": None}  # JSON has no NaN
    assert run["counters"]["node"]["build"]["all_ones"] == 2**64 - 1
    assert run["notices"][0]["text"] == "board 2 is silent"
    assert http.get("/api/v1/runs/3").status_code == 404
    assert len(http.get("/api/v1/configs").json()) == 1


def test_two_runs_compared(http: TestClient) -> None:
    found = http.get("/api/v1/compare?runs=1,2")
    assert found.status_code == 200, found.text
    rates = {row["what"]: row["ratio"] for row in found.json()["rates"]}
    assert rates["events/s"] == 0.5
    assert http.get("/api/v1/compare?runs=1,9").status_code == 404


def test_what_people_write(http: TestClient) -> None:
    assert http.post("/api/v1/runs/1/quality", json={"quality": "good", "author": "me"}).status_code == 204
    assert http.post("/api/v1/log", json={"text": "beam", "author": "me", "run": 1}).status_code == 204
    assert http.get("/api/v1/runs?quality=good").json()[0]["number"] == 1
    assert [row["text"] for row in http.get("/api/v1/runs/1").json()["log"]] == ["beam", "marked good"]
    for path, body in (("runs/9/quality", {"quality": "bad"}), ("log", {"text": "x", "run": 9}), ("alarms/9/ack", {})):
        assert http.post(f"/api/v1/{path}", json={**body, "author": "me"}).status_code == 404, path


def test_alarms(http: TestClient, catalogue: Catalogue) -> None:
    number = catalogue.alarms.raise_alarm("silence", "board 2 is silent", run=2)
    assert http.post(f"/api/v1/alarms/{number}/ack", json={"author": "me"}).status_code == 204
    assert http.get("/api/v1/alarms").json()[0]["acked_by"] == "me"
    assert 'anello_alarms{state="acknowledged"} 1.0' in http.get("/metrics").text


def test_history(http: TestClient, catalogue: Catalogue) -> None:
    for second in range(3):
        catalogue.history.add(second * 10**9, 2, {"decided_hz": 100.0 + second})
    found = http.get("/api/v1/history?metric=decided_hz&to_ns=5000000000").json()
    assert found["value"] == [100.0, 101.0, 102.0]
    assert http.get("/api/v1/history?metric=nothing").json()["value"] == []


def test_a_catalogue_that_fails_is_reported_and_no_bug(http: TestClient, catalogue: Catalogue) -> None:
    catalogue.close()
    answer = http.get("/api/v1/runs")
    assert answer.status_code == 503
    assert "catalogue" in answer.json()["message"]
