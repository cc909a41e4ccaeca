# SPDX-License-Identifier: Apache-2.0
"""`anello metrics`: the processes of a machine in one text, with nothing that leads them."""

import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from catalogue_synthetic import origin
from fake_control import RICH, FakePages
from fastapi.testclient import TestClient
from test_control_metrics import TOKENS, tool

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.configuration.load import load
from anello.configuration.origin import Origin
from anello.control.access.tokens import Tokens
from anello.control.operator import Status
from anello.control.web.exporter import Configurations, Exporter, create_exporter
from anello.counters.live import PlainView, view_of
from anello.counters.page_copy import PageCopy

TWO = ("anello.node.1", "anello.source.2")
OF_NODE = {"process": "node.1", "chain": "rich", "run": "42", "name": "na62-rich"}
ANELLO = [sys.executable, "-m", "anello"]
PATIENCE_S = 60.0


class Machine:
    """Made-up processes."""

    def __init__(self, *names: str) -> None:
        self.names, self.pages, self.ended = list(names), FakePages(), False
        config = load(RICH)
        self.exporter = Exporter(lambda status: view_of(config), pages=lambda: self.names, copy=self.copy,
                                 clock=self.pages.clock)  # fmt: skip
        self.http = TestClient(create_exporter(self.exporter, TOKENS), base_url="http://localhost")

    def copy(self, name: str) -> PageCopy:
        if "strange" in name:
            raise ValueError("it makes no sense")
        page = self.pages.copy(name)
        return replace(page, header=replace(page.header, runs=not self.ended))

    def text(self) -> str:
        answer = self.http.get("/metrics", headers={"authorization": f"Bearer {TOKENS.viewer}"})
        assert answer.status_code == 200
        return answer.text


def labelled(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    from prometheus_client.parser import text_string_to_metric_families

    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of_node(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset((OF_NODE | labels).items())


def test_each_process_says_who_it_is() -> None:
    machine = Machine(*TWO)
    machine.pages.advance(1.5)
    said = labelled(machine.text())
    assert said[of_node("anello_decided_total")] == 150_000
    assert said[of_node("anello_latency_seconds_bucket", leg="sent_to_decided", le="0.001")] == 149_998
    assert said[of_node("anello_run_state", state="running")] == 1
    assert said[of_node("anello_board_received_total", board="3")] == 150_000
    assert said[of_node("anello_run_info", config="c0ffee00")] == 1
    source = OF_NODE | {"process": "source.2"}
    assert said["anello_run_state", frozenset((source | {"state": "running"}).items())] == 1
    assert ("anello_decided_total", frozenset(source.items())) not in said, "front ends decide nothing"


def test_a_family_is_there_once() -> None:
    names = re.findall(r"^# TYPE (\S+)", Machine("anello.node.1", "anello.node.3", *TWO[1:]).text(), re.MULTILINE)
    assert len(names) == len(set(names))


@pytest.mark.long
@pytest.mark.process
def test_names_follow_the_conventions() -> None:
    text = Machine("anello.node.1", "anello.node.3", *TWO[1:]).text()
    checked = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_process_that_was_killed_is_crashed_as_long_as_its_page_is_there() -> None:
    machine = Machine(*TWO)
    machine.ended = True
    said = labelled(machine.text())
    assert said[of_node("anello_run_state", state="crashed")] == 1
    assert said[of_node("anello_run_state", state="running")] == 0
    machine.names = []
    assert not any(name.startswith("anello_run") for name, _ in labelled(machine.text()))


def test_a_page_that_makes_no_sense_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    said = labelled(Machine("anello.node.strange", *TWO).text())
    assert of_node("anello_decided_total") in said
    assert "anello.node.strange is left out: ValueError: it makes no sense" in caplog.text


def test_a_ledger_is_closed_at_any_pace_of_scraping() -> None:
    machine = Machine(*TWO)
    machine.text()
    machine.pages.advance(15)
    assert labelled(machine.text())[of_node("anello_ledger_rows_off")] == 0


# --- Configurations -----------------------------------------------------------------------------------------------
def status(digest: str) -> Status:
    from anello.control.states import State

    return Status(State.RUNNING, 0, config_digest=digest, chain="rich")


def test_the_view_is_made_with_the_configuration_that_the_run_had(tmp_path: Path) -> None:
    config = load(RICH)
    with Catalogue(of_runs_in(tmp_path / "b")) as catalogue:
        catalogue.runs.begin(Origin.of(config), tmp_path)
        catalogue.runs.begin(origin(configuration="not a configuration"), tmp_path)
    configurations = Configurations([tmp_path / "a", tmp_path / "b"])
    assert type(configurations.view(status(Origin.of(config).config_digest))) is type(view_of(config))
    for unknown in ("0" * 16, origin().config_digest):
        assert type(configurations.view(status(unknown))) is PlainView


# --- Who may ------------------------------------------------------------------------------------------------------
def test_the_rules_are_the_control_rooms() -> None:
    http = Machine(*TWO).http
    assert http.get("/metrics").status_code == 401
    viewer = {"authorization": f"Bearer {TOKENS.viewer}"}
    assert http.get("/metrics", headers=viewer | {"host": "elsewhere.example"}).status_code == 403
    assert http.get("/metrics", headers=viewer | {"origin": "http://elsewhere.example"}).status_code == 403
    assert http.get("/healthz").json() == {"status": "ok"}


@pytest.mark.process
def test_another_address_is_refused_without_a_certificate(tmp_path: Path) -> None:
    done = subprocess.run([*ANELLO, "metrics", "--in", str(tmp_path), "--bind", "0.0.0.0:0"], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert "--bind: must be an address of the loopback interface" in done.stderr


@pytest.mark.process
def test_the_command_sees_what_runs_here(tmp_path: Path) -> None:
    """A node whose front ends are elsewhere."""
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    listening = [*ANELLO, "node", str(RICH), "--set", f"run.directory={tmp_path}", "--set", "run.display=off"]
    ports = ["--set", "receive.ports=[0,0,0,0]"]
    with (
        subprocess.Popen([*listening, *ports], stdout=subprocess.PIPE, text=True) as node,
        subprocess.Popen([*ANELLO, "metrics", "--in", str(tmp_path), "--bind", "127.0.0.1:0"], stdout=subprocess.PIPE,
                         text=True) as exporter,
    ):  # fmt: skip
        bound = [threading.Timer(PATIENCE_S, process.kill) for process in (node, exporter)]
        for timer in bound:
            timer.start()
        try:
            assert node.stdout is not None
            assert "listening at" in node.stdout.readline()
            assert exporter.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/metrics", exporter.stdout.readline())
            assert found is not None
            token = Tokens.of(tmp_path).viewer
            text = httpx.get(found[0], headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE_S).text
            said = {(name, dict(labels)["process"]) for name, labels in labelled(text) if "process" in dict(labels)}
            assert ("anello_board_received_total", f"node.{node.pid}") in said, "it knows the run's configuration"
        finally:
            for process in (node, exporter):
                process.send_signal(signal.SIGTERM)
            for process, timer in zip((node, exporter), bound, strict=True):
                process.wait(PATIENCE_S)
                timer.cancel()
        assert exporter.returncode == 0
