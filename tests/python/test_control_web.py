# SPDX-License-Identifier: Apache-2.0
"""The control room over HTTP, with a made-up operator and made-up pages."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from fake_control import RICH, FakeMemory, FakeOperator, FakePages
from fastapi import FastAPI
from fastapi.testclient import TestClient

from anello.configuration.load import load
from anello.control.access.access import MAX_BODY_BYTES
from anello.control.access.tickets import Tickets
from anello.control.access.tokens import FILE, Role, Tokens
from anello.control.run_sampler import RunSampler, pause_s
from anello.control.states import State
from anello.control.web.app import create_app
from anello.control.web.serve import Tls, WebServer
from anello.control.web.served import MOST_ORDERS
from anello.control.web.stream import KEPT, EventStream
from anello.errors import ConfigError

TOKENS = Tokens("v" * 32, "o" * 32)
VIEWER, OPERATOR = ({"authorization": f"Bearer {word}"} for word in (TOKENS.viewer, TOKENS.operator))
BASE = "http://127.0.0.1:8640"


class Room:
    """The objects that a test uses."""

    def __init__(self, state: State, directory: Path) -> None:
        self.operator, self.pages, self.memory = FakeOperator(state), FakePages(), FakeMemory(directory)
        self.sight = RunSampler(self.operator.status, copy=self.pages.copy, clock=self.pages.clock)
        self.app: FastAPI = create_app(self.operator, self.memory, self.sight, TOKENS)
        self.http = TestClient(self.app, base_url=BASE, headers=OPERATOR)  # not entered: nothing looks by itself

    def look(self, seconds: float = 0.5) -> None:
        self.pages.advance(seconds)
        self.sight.look()


@pytest.fixture
def running(tmp_path: Path) -> Room:
    return Room(State.RUNNING, tmp_path)


@pytest.fixture
def offline(tmp_path: Path) -> Room:
    return Room(State.OFFLINE, tmp_path)


# --- Who may ------------------------------------------------------------------------------------------------------
def api_routes(room: Room) -> list[tuple[str, str]]:
    described = room.http.get("/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in described.items() for method in methods]


def test_nothing_is_reported_or_done_without_a_token(running: Room) -> None:
    routes = [*api_routes(running), ("GET", "/metrics")]
    assert len(routes) > 25
    for method, path in routes:
        address = path.replace("{number}", "41").replace("{alarm}", "7").replace("{digest}", "c0ffee00")
        for headers in ({"authorization": ""}, {"authorization": "Bearer wrong"}, {"authorization": "Basic b3Bl"}):
            answer = running.http.request(method, address, headers=headers, json={})
            assert answer.status_code == 401, (method, address, headers)
            assert answer.headers["www-authenticate"].startswith("Bearer")
    assert not running.operator.orders


def test_a_viewer_looks_and_gives_no_orders(running: Room) -> None:
    assert running.http.get("/api/v1/state", headers=VIEWER).status_code == 200
    posts = [path for method, path in api_routes(running) if method == "POST"]
    assert len(posts) >= 10
    for path in posts:
        address = path.replace("{number}", "41").replace("{alarm}", "7")
        assert running.http.post(address, headers=VIEWER, json={}).status_code == 403, address
    assert running.operator.state is State.RUNNING


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8640", "127.0.0.1.evil.example", "", "[::1"])
def test_other_host_names_are_refused(running: Room, host: str) -> None:
    assert running.http.get("/api/v1/state", headers={"host": host}).status_code == 403
    assert running.http.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1:8640", "LOCALHOST", "[::1]:8640"])
def test_our_own_host_names_are_not(running: Room, host: str) -> None:
    assert running.http.get("/api/v1/state", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8640"])
def test_foreign_origins_are_refused(running: Room, origin: str) -> None:
    assert running.http.post("/api/v1/stop", headers={"origin": origin}).status_code == 403
    assert running.operator.state is State.RUNNING
    assert running.http.post("/api/v1/stop", headers={"origin": BASE}).status_code == 200


def test_what_is_too_large_is_refused(running: Room) -> None:
    too_much = b" " * (MAX_BODY_BYTES + 1)
    assert running.http.post("/api/v1/log", content=too_much).status_code == 413
    assert running.http.post("/api/v1/log", content=iter([too_much[:-1], b"  "])).status_code == 413


def test_a_ticket_opens_one_path_for_a_minute(tmp_path: Path) -> None:
    now = [100.0]
    tickets = Tickets(lambda: now[0])
    path, _, query = tickets.of("/api/v1/runs/41/report").partition("?")
    assert tickets.admits(path, query)
    assert not tickets.admits("/api/v1/runs/40/report", query)
    assert not Tickets(lambda: now[0]).admits(path, query)  # of another server
    for wrong in ("", "ticket=", "ticket=1.2", "ticket=é.é", query[:-1], query.replace("=1", "=9")):
        assert not tickets.admits(path, wrong)
    now[0] += 61
    assert not tickets.admits(path, query)


def test_a_report_cannot_reach_the_page(tmp_path: Path) -> None:
    room = Room(State.CONFIGURED, tmp_path)
    assert room.http.get("/api/v1/runs/41/report").status_code == 404
    (tmp_path / "report.html").write_text("<script>parent.localStorage</script>")
    address = room.http.get("/api/v1/ticket", params={"path": "/api/v1/runs/41/report"}).json()["address"]
    answer = room.http.get(address, headers={"authorization": ""})
    assert answer.status_code == 200
    assert "sandbox allow-scripts" in answer.headers["content-security-policy"]
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    assert room.http.post(address.replace("report", "quality"), headers={"authorization": ""}).status_code == 401


# --- Tokens -------------------------------------------------------------------------------------------------------
def test_tokens_are_made_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    made = Tokens.of(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert Tokens.of(tmp_path) == made
    assert made.role(made.viewer) is Role.VIEWER
    assert made.role(made.operator) is Role.OPERATOR
    assert made.role("") is made.role("\udcff") is made.role(made.viewer[:-1]) is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"viewer": "a", "operator": "b"}',
                                  json.dumps({"viewer": "x" * 32, "operator": "x" * 32})])  # fmt: skip
def test_a_file_that_holds_no_tokens_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(ConfigError, match="two different words"):
        Tokens.of(tmp_path)


def test_a_file_that_others_read_is_refused(tmp_path: Path) -> None:
    Tokens.of(tmp_path)
    (tmp_path / FILE).chmod(0o640)
    with pytest.raises(ConfigError, match="owner alone"):
        Tokens.of(tmp_path)


# --- Where it listens ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "daq.example"])
def test_only_the_loopback_interface_goes_without_tls(running: Room, host: str) -> None:
    with pytest.raises(ConfigError, match="--tls-cert"):
        WebServer(running.app, host, 0)


def test_it_serves_in_a_thread_and_ends_in_order(running: Room) -> None:
    import httpx

    server = WebServer(running.app, port=0).start()
    headers = {**VIEWER, "last-event-id": "0"}
    with httpx.Client(base_url=server.origin, headers=headers, timeout=20) as http:
        assert http.get("/healthz").json() == {"status": "ok"}
        with http.stream("GET", "/api/v1/stream") as stream:
            lines = stream.iter_lines()
            assert any(line == "event: tick" for line in lines)
            server.stop()
            list(lines)  # it ends
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.origin}/healthz")


def test_a_certificate_lets_it_listen_elsewhere(running: Room, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):  # it is past the refusal
        WebServer(running.app, "0.0.0.0", 0, Tls(tmp_path / "cert.pem", tmp_path / "key.pem"))


# --- Orders -------------------------------------------------------------------------------------------------------
def test_a_run_from_the_beginning_to_its_end(offline: Room) -> None:
    answer = offline.http.post("/api/v1/configure", json={"file": str(RICH), "settings": ["run.seed=7"]})
    assert answer.json()["state"] == "configured"
    assert offline.http.post("/api/v1/arm").json()["state"] == "ready"
    started = offline.http.post("/api/v1/start").json()
    assert (started["state"], started["run"]) == ("running", 42)
    assert set(started["possible"]) == {"stop", "abort"}
    assert offline.http.post("/api/v1/stop").json()["state"] == "configured"
    assert offline.http.post("/api/v1/reset").json()["state"] == "offline"


def test_what_the_state_does_not_allow_is_a_conflict(running: Room) -> None:
    answer = running.http.post("/api/v1/arm")
    assert answer.status_code == 409
    assert answer.json()["message"] == "arm is not possible while running; possible now: stop, abort"


def test_what_failed_says_why(offline: Room) -> None:
    offline.http.post("/api/v1/configure", json={"file": str(RICH)})
    offline.operator.fails = "arm"
    answer = offline.http.post("/api/v1/arm")
    assert answer.status_code == 502
    assert "port 6666" in answer.json()["message"]
    assert offline.http.get("/api/v1/state").json()["cause"] == answer.json()["message"]


def test_orders_that_wait_for_each_other_do_not_fill_the_server(running: Room) -> None:
    ordering = running.app.state.served.ordering
    taken = [ordering.acquire(blocking=False) for _ in range(MOST_ORDERS)]
    assert all(taken)
    assert running.http.post("/api/v1/stop").status_code == 503
    ordering.release()
    assert running.http.post("/api/v1/stop").status_code == 200


@pytest.mark.parametrize("path", ["configure", "check"])
@pytest.mark.parametrize("setting", ["receive.n_buffers=-1", "no.such.key=1", "no equals sign", "run.seed=text"])
def test_a_wrong_configuration_is_reported_as_on_the_command_line(offline: Room, path: str, setting: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(RICH, [setting])
    answer = offline.http.post(f"/api/v1/{path}", json={"file": str(RICH), "settings": [setting]})
    assert answer.status_code == 422
    assert answer.json()["message"] == str(refused.value)
    assert answer.json()["field"] == refused.value.field
    assert offline.operator.state is State.OFFLINE


@pytest.mark.parametrize(("headers", "role"), [(VIEWER, "viewer"), (OPERATOR, "operator")])
def test_everybody_learns_what_they_may_do(running: Room, headers: dict[str, str], role: str) -> None:
    assert running.http.get("/api/v1/role", headers=headers).json() == {"role": role}


def test_a_silent_board_is_the_verdict_at_once_in_page_and_metrics(running: Room) -> None:
    running.look()
    running.look()
    assert live(running)["verdict"]["word"] == "good"
    running.pages.silent = {2}
    running.look()
    assert live(running)["verdict"]["line"].startswith("incomplete: 1 boards are silent (board 2): look at its power")
    metrics = running.http.get("/metrics").text
    assert 'anello_verdict{word="incomplete"} 1' in metrics
    assert 'anello_verdict{word="good"} 0' in metrics


ENDLESS = {"number": "9" * 5000, "hexadecimal": "0x" + "f" * 5000, "list": "[" * 3000 + "]" * 3000}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("path", ["check", "configure"])
def test_numbers_and_lists_without_end_are_refused_in_words(
    offline: Room, path: str, kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"[run]\nseed = {ENDLESS[kind]}\n")
    for body in ({"file": str(RICH), "settings": [f"run.seed={ENDLESS[kind]}"]}, {"file": str(file)}):
        answer = offline.http.post(f"/api/v1/{path}", json=body)
        assert answer.status_code == 422, answer.text
        assert len(answer.json()["message"]) < 500


@pytest.mark.parametrize("body", ["[" * 100_000, '{"file": ' + "9" * 5000 + "}"])
def test_a_body_without_end_is_refused(offline: Room, body: str) -> None:
    answer = offline.http.post("/api/v1/check", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/nonexistent", "/proc/self/mem"])
def test_what_is_no_configuration_is_not_read_for_ever(offline: Room, path: str) -> None:
    assert offline.http.post("/api/v1/configure", json={"file": path}).status_code == 422
    assert offline.http.post("/api/v1/check", json={"file": path}).status_code == 422


def test_marking_writing_acknowledging(running: Room) -> None:
    assert running.http.post("/api/v1/runs/41/quality", json={"quality": "good", "author": "me"}).status_code == 204
    assert running.http.get("/api/v1/runs/41").json()["quality"] == "good"
    assert running.http.post("/api/v1/log", json={"text": "<b>beam</b>", "author": "me", "run": 41}).status_code == 204
    assert running.http.get("/api/v1/log", params={"run": 41}).json()[0]["text"] == "<b>beam</b>"
    assert running.http.post("/api/v1/alarms/7/ack", json={"author": "me"}).status_code == 204
    assert running.http.get("/api/v1/alarms").json()[0]["acked_by"] == "me"
    assert running.http.post("/api/v1/alarms/8/ack", json={"author": "me"}).status_code == 404
    assert running.http.post("/api/v1/runs/99/quality", json={"quality": "bad", "author": "me"}).status_code == 404
    assert running.http.post("/api/v1/runs/41/quality", json={"quality": "fine", "author": "me"}).status_code == 422


# --- What is sent -------------------------------------------------------------------------------------------------
def live(room: Room) -> dict[str, Any]:
    live_values: dict[str, Any] = room.http.get("/api/v1/now").json()["live"]
    return live_values


def test_rates_losses_latency_and_occupancy(running: Room) -> None:
    running.look()
    assert live(running)["rates"] == {}  # of one look there is none
    running.pages.n_lost = 3
    running.look()
    live_values = live(running)
    assert live_values["rates"]["decided_hz"] == pytest.approx(100_000)
    assert live_values["flow"]["built"] == 100_000
    assert {"cause": "packets dropped, no free buffer", "n": 3} in live_values["lost"]
    whole = next(leg for leg in live_values["latency"]["legs"] if leg["leg"] == live_values["latency"]["whole"])
    assert (whole["p50_ns"], whole["p999_ns"]) == (180_000, 913_000)
    stages = {stage["name"]: stage for stage in live_values["stages"]}
    assert list(stages) == ["receive", "build", "trigger", "store"]
    assert stages["receive"]["occupancy"] == pytest.approx(0.25)
    assert stages["receive"]["causes"] == {"dropped, no free buffer": 3}
    assert live_values["boards"]["number"] == [0, 1, 2, 3]
    assert live_values["boards"]["lost"] == [0, 0, 0, 3]


def test_nothing_runs_and_the_page_says_so(offline: Room) -> None:
    offline.look()
    assert offline.http.get("/api/v1/now").json()["live"] is None
    assert offline.http.get("/api/v1/counters").json() == {}
    assert offline.http.get("/api/v1/event").json() == {"drawing": None}
    assert offline.http.get("/api/v1/agents").json() == []
    assert offline.http.get("/api/v1/recent").json()["t_ms"] == []


def test_a_page_that_is_gone_is_no_error(running: Room) -> None:
    def gone(name: str) -> Any:
        raise FileNotFoundError(name)

    sight = RunSampler(running.operator.status, copy=gone, clock=running.pages.clock)
    assert sight.look().node is None


def test_ten_minutes_are_remembered(running: Room) -> None:
    for _ in range(5):
        running.look()
    recent = running.http.get("/api/v1/recent").json()
    assert len(recent["t_ms"]) == 4  # the first look has no rate
    assert recent["decided_hz"] == [pytest.approx(100_000)] * 4
    assert recent["p999_us"] == [913] * 4


def test_no_rate_goes_from_one_run_into_the_next(running: Room) -> None:
    running.look()
    running.look()
    running.operator.run += 1
    running.pages.begin_ns = running.pages.now_ns
    running.look()
    assert live(running)["rates"] == {}


def test_the_catalogue(running: Room) -> None:
    assert [row["number"] for row in running.http.get("/api/v1/runs").json()] == [41, 40]
    assert [row["number"] for row in running.http.get("/api/v1/runs", params={"before": 41}).json()] == [40]
    assert running.http.get("/api/v1/runs/41").json()["files"][0]["path"] == "decisions.h5"
    assert running.http.get("/api/v1/runs/7").status_code == 404
    assert [row["number"] for row in running.http.get("/api/v1/compare?runs=41,40").json()["runs"]] == [41, 40]
    assert running.http.get("/api/v1/compare?runs=41").status_code == 422
    assert running.http.get("/api/v1/history?metric=decided_hz").json()["value"] == [1.0]


def test_the_configuration_with_every_key_explained(running: Room) -> None:
    keys = {key["key"]: key for key in running.http.get("/api/v1/config").json()["keys"]}
    assert set(load(RICH).as_given()) <= set(keys)
    assert keys["receive.policy"]["choices"]
    assert all(key["meaning"] for key in keys.values())
    assert keys["receive.n_buffers"]["bounds"]


# --- The stream ---------------------------------------------------------------------------------------------------
async def received(stream: EventStream, last_id: int | None, n: int) -> list[tuple[str | None, Any]]:
    found = []
    follow = stream.follow(last_id)
    async for event in follow:
        found.append((event.event, json.loads(event.data)))
        if len(found) == n:
            break
    await follow.aclose()
    return found


def test_who_comes_again_learns_what_happened_since() -> None:
    async def scene() -> None:
        stream = EventStream()
        for n in range(3):
            stream.publish("notice", {"n": n})
        stream.publish("tick", {"t": 1})
        stream.publish("tick", {"t": 2})
        assert await received(stream, 1, 3) == [("notice", {"n": 1}), ("notice", {"n": 2}), ("tick", {"t": 2})]
        assert await received(stream, None, 1) == [("tick", {"t": 2})]
        assert await received(stream, 99, 1) == [("tick", {"t": 2})]  # of an earlier life of the server
        assert stream.viewers == 0

    asyncio.run(scene())


def test_a_slow_viewer_learns_how_much_it_missed_and_holds_up_nobody() -> None:
    async def scene() -> None:
        stream = EventStream()
        follow = stream.follow(0)
        stream.publish("notice", {"n": -1})
        first = await anext(follow)
        assert json.loads(first.data) == {"n": -1}
        for n in range(KEPT + 10):  # it does not read now
            stream.publish("notice", {"n": n})
            stream.publish("tick", {"t": n})
        assert json.loads((await anext(follow)).data) == {"t": KEPT + 9}  # one tick, the last
        assert json.loads((await anext(follow)).data) == {"missed": 10}
        rest = [await anext(follow) for _ in range(KEPT)]
        assert [json.loads(one.data)["n"] for one in rest] == [*range(10, KEPT + 10)]
        await follow.aclose()

    asyncio.run(scene())


@pytest.mark.parametrize(("cost_s", "pause"), [(0.003, 0.5), (0.03, 1.0), (10.0, 1.5)])
def test_looks_that_take_long_are_taken_less_often(cost_s: float, pause: float) -> None:
    assert pause_s(0.5, cost_s) == pytest.approx(pause)


def test_five_pages_cost_one_look(running: Room) -> None:
    looks = []
    copy = running.pages.copy
    sight = RunSampler(
        running.operator.status, copy=lambda name: (looks.append(name), copy(name))[1], clock=running.pages.clock
    )
    room = Room.__new__(Room)
    app = create_app(running.operator, running.memory, sight, TOKENS)
    room.http = TestClient(app, base_url=BASE, headers=VIEWER)
    sight.look()
    for _ in range(5):
        for path in ("now", "counters", "recent", "state"):
            assert room.http.get(f"/api/v1/{path}").status_code == 200
    assert looks == ["anello.node.1", "anello.source.2"]
