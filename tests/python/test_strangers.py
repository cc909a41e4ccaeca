# SPDX-License-Identifier: Apache-2.0
"""A stranger that sends in a board's name is counted, named, and without effect, in both chains."""

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stalls import PATIENCE_MS

pytest.importorskip("anello._engine", reason="the compiled engine is not built")

from anello.account.ledger import TAKEN_FOR_STRANGERS, Ledger
from anello.account.verdict import Word
from anello.camera.account.ledger import build_camera_ledger
from anello.camera.configuration.config import CameraConfig
from anello.configuration.load import load
from anello.counters.live import view_of
from anello.errors import ConfigError
from anello.rich.account.ledger import build_ledger
from anello.rich.engine import engine as rich_engine
from anello.run.chain_of import chain_of

RICH = ["run.duration_s=0", "source.n_bursts=2", "source.burst_ms=400", "source.gap_ms=50", "source.rate_hz=20000",
        "source.simulation.n_pool_events=200", f"build.timeout_ms={PATIENCE_MS}"]  # fmt: skip
CAMERA = ["chain=camera", "camera.boards=6", "run.n_events=2000", "camera_source.rate_hz=4000", "camera.samples=20",
          "camera_source.pool_events=4", f"camera_build.timeout_ms={PATIENCE_MS}"]  # fmt: skip
# Board 1 alone, with events of its own: a hundredth of the board's datagrams.
RICH_IMPOSTOR = ["source.first_board=1", "source.n_boards=1", "source.rate_hz=200", "run.seed=9"]
CAMERA_IMPOSTOR = ["camera_source.first_board=1", "camera_source.n_boards=1", "run.n_events=20",
                   "camera_source.rate_hz=40", "run.seed=9"]  # fmt: skip


def has_ip6() -> bool:
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one, suppress(OSError):
        one.bind(("::1", 0))
        return True
    return False


HAS_IP6 = has_ip6()


def source_of(settings: list[str], section: str, ports: list[int]) -> Any:
    length = [f"receive.ports={ports}", f"{section}.ports={ports}"]
    return chain_of(load(None, [*settings, *length])).make_source(None)


def n_sent(source: Any) -> int:
    return sum(block.get("datagrams_sent", 0) for block in source.counters().values())


@contextmanager
def running(settings: list[str], directory: Path) -> Iterator[Any]:
    node = chain_of(load(None, settings)).make_node(directory)
    node.start()
    try:
        yield node
    finally:
        node.stop()


def wait_for(condition: Any, timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def ledger_of(config: Any, node: Any, source: Any) -> Ledger:
    if isinstance(config, CameraConfig):
        groups = config.boards_by_group()
        return build_camera_ledger(node.counters(), source.counters(), groups=groups, one_host=True)
    return build_ledger(node.counters(), source.counters(), one_host=True)


@dataclass(frozen=True)
class Case:
    settings: list[str]
    impostor: list[str]
    section: str  # of the front ends
    strangers: tuple[str, str]  # block and counter
    incomplete: tuple[str, str]

    def own_port(self, ports: list[int]) -> int:
        return ports[1] if len(ports) > 1 else ports[0]


CASES = [
    Case(RICH, RICH_IMPOSTOR, "source", ("receive.board1", "strangers"), ("build", "events_incomplete")),
    Case(CAMERA, CAMERA_IMPOSTOR, "camera_source", ("build.board1", "strangers"), ("join", "events_incomplete")),
]


@pytest.mark.parametrize("case", CASES, ids=["rich", "camera"])
def test_a_neighbour_that_uses_a_boards_name_has_no_effect(case: Case, tmp_path: Path) -> None:
    with running(case.settings, tmp_path) as node:
        source = source_of(case.settings, case.section, node.ports())
        impostor = source_of([*case.settings, *case.impostor], case.section, [case.own_port(node.ports())])
        source.start()
        wait_for(lambda: n_sent(source) > 100)
        impostor.start()
        wait_for(lambda: not source.running() and not impostor.running())
        source.stop()
        impostor.stop()
    counters, notices = node.counters(), node.notices()
    assert counters[case.strangers[0]][case.strangers[1]] == n_sent(impostor) > 10
    assert counters[case.incomplete[0]][case.incomplete[1]] == 0
    assert ledger_of(load(None, case.settings), node, source).problems == []
    about = [severity for text, severity in notices if text.startswith("board 1: datagrams also come from 127.0.0.1:")]
    assert about == ["warning"], notices


def test_who_speaks_first_for_half_of_the_boards_costs_what_it_sent(tmp_path: Path) -> None:
    """A short run of other front ends in the name of two of four boards, before all four begin."""
    impostor = ["source.first_board=2", "source.n_boards=2", "source.n_bursts=1", "source.burst_ms=20", "run.seed=9"]
    with running(RICH, tmp_path) as node:
        first = source_of([*RICH, *impostor], "source", node.ports()[2:])
        first.start()
        wait_for(lambda: not first.running())
        first.stop()
        source = source_of(RICH, "source", node.ports())
        source.start()
        wait_for(lambda: not source.running())
        source.stop()
    counters, notices = node.counters(), [text for text, _ in node.notices()]
    n_made = source.counters()["source.board0"]["fragments"]
    assert counters["build"]["events_complete"] > 0.9 * n_made
    assert counters["build"]["fragments_late"] < 0.05 * n_made  # of the time in which the first ones were the boards
    for board in (2, 3):
        received = counters[f"receive.board{board}"]
        assert received["source_changes"] == received["blocks_by_take_over"] == 1
        n_first = first.counters()[f"source.board{board}"]["datagrams_sent"]
        assert 0 < received["mistaken_strangers"] == received["strangers"] <= n_first + 1
        about = [text for text in notices if text.startswith(f"board {board}: 127.0.0.1:")]
        assert len(about) == 1, notices
        assert "has sent more than 127.0.0.1:" in about[0]
    assert not any("also come from" in text and _speaks_against_itself(text) for text in notices), notices
    assert ledger_of(load(None, RICH), node, source).problems == []


def _speaks_against_itself(text: str) -> bool:
    """True if the text calls one address both a stranger's and the board's."""
    return len(set(re.findall(r"127\.0\.0\.1:\d+", text))) == 1


@pytest.mark.parametrize("case", CASES, ids=["rich", "camera"])
@pytest.mark.skipif(not HAS_IP6, reason="this machine has no IPv6")
def test_boards_may_send_over_ip6(case: Case, tmp_path: Path) -> None:
    """Sends over IPv6, to one address or to all; accepted senders are named as over IPv4."""
    for host, allowed in (("::1", "::1"), ("::", ""), ("::1", "2001:db8::9")):
        settings = [
            *case.settings,
            f"receive.host={host}",
            f"{case.section}.host=::1",
            f'receive.sources=["{allowed}"]',
        ]
        with running(settings, tmp_path / f"{host}{allowed}".replace(":", "_")) as node:
            source = source_of(settings, case.section, node.ports())
            source.start()
            wait_for(lambda: not source.running())  # noqa: B023
            source.stop()
        strangers = sum(block.get("strangers", 0) for name, block in node.counters().items() if ".board" in name)
        if allowed == "2001:db8::9":
            assert strangers > 0
            assert any("come from [::1]:" in text for text, _ in node.notices())
            flaws = view_of(load(None, settings)).flaws(node.counters(), None)
            assert {flaw.word for flaw in flaws if flaw.words.endswith(TAKEN_FOR_STRANGERS)} == {Word.LOST}, flaws
        else:
            assert strangers == 0
            assert node.counters()[case.incomplete[0]][case.incomplete[1]] == 0
            assert ledger_of(load(None, settings), node, source).problems == []


def test_sources_must_be_as_many_as_boards(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^receive.sources: must name none, one for all boards, or one for each"):
        chain_of(load(None, [*RICH, 'receive.sources=["10.0.0.1", "10.0.0.2"]'])).make_node(tmp_path)


@pytest.mark.parametrize("text", [
    "10.0.0", "10.0.0.1:0", "10.0.0.1:x", "a.b.c.d", "10.0.0.1:65536", "[::1", "[::1]x", "[::1]:0", "::1::2",
])  # fmt: skip
def test_a_source_must_be_an_address(text: str) -> None:
    with pytest.raises(ConfigError, match="must be an IP address, with or without a port, or empty"):
        load(None, [f'receive.sources=["{text}"]'])


def test_the_engine_says_the_same_of_its_own() -> None:
    values = load(None, RICH).flat() | {"receive.sources": ["10.0.0"]}
    with pytest.raises(Exception, match=r"receive\.sources"):
        rich_engine().Node(values)
