# SPDX-License-Identifier: Apache-2.0
"""Farms under the control room with real processes: nodes here, and on other machines by their agents."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from stalls import PATIENCE_MS

from anello.catalogue.catalogue import Catalogue, of_runs_in
from anello.control.agent.agents import Agents
from anello.control.operator import NotDoneError
from anello.control.run_controller import RunController
from anello.control.run_sampler import RunSampler
from anello.control.states import State
from anello.counters.farm_copy import FarmNode
from anello.counters.live import LIVE, SILENT
from anello.counters.page_copy import PageCopy
from anello.system import secret_keys

pytestmark = pytest.mark.process

EXCHANGE = Path(__file__).parents[2] / "configs/lhcb-exchange.toml"
SMALL = ["run.duration_s=0", "run.refresh_ms=100", "fabric.transport=tcp", "generator.rate_hz=20000",
         f"exchange.timeout_ms={PATIENCE_MS}"]  # fmt: skip
ANELLO = [sys.executable, "-m", "anello"]


class Farm:
    """A control room and agents, each with a directory of its own as on other machines."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runs = folder, folder / "runs"
        self.agents: Agents | None = None
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._endpoint = "tcp://127.0.0.1:0"
        self.opened = ExitStack()

    def open(self) -> RunController:
        """The control room, at the same address as before."""
        self.opened = ExitStack()
        if (self.folder / "keys").exists():
            self.agents = self.opened.enter_context(Agents(self._endpoint, self.folder / "keys"))
            self._endpoint = self.agents.endpoint
        self.room = RunController(self.runs, elsewhere=self.agents, ended=self._ended)
        self.opened.callback(self.room.close)
        return self.room

    def _ended(self, process: object, code: int | None) -> None:
        if code:
            with Catalogue(of_runs_in(self.runs)) as catalogue:
                catalogue.close_crashed()

    def start_agent(self, name: str) -> None:
        arguments = ["agent", self._endpoint, "--keys", str(self.folder / "keys"), "--name", name]
        self.processes[name] = subprocess.Popen([*ANELLO, *arguments, "--in", str(self.folder / name)])

    def close(self) -> None:
        """Ends the run that is under way."""
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.room.close()
        last = RunController(self.runs)
        if last.status().state in (State.READY, State.RUNNING, State.DRAINING):
            last.abort()
        last.close()
        self.opened.close()


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    farm = Farm(tmp_path)
    farm.runs.mkdir()
    yield farm
    farm.close()


@pytest.fixture
def with_agents(farm: Farm) -> Farm:
    secret_keys.make(farm.folder / "keys")
    farm.open()
    for name in ("rack1", "rack2"):
        farm.start_agent(name)
    wait(lambda: farm.agents is not None and set(farm.agents.machines()) == {"rack1", "rack2"})
    return farm


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def members(room: RunController) -> dict[int, FarmNode]:
    return {member.rank: member for member in room.status().members}


def process_of(member: FarmNode) -> int:
    return int(member.page.rpartition(".")[2])


def page_of(agents: Agents, member: FarmNode) -> PageCopy:
    """An agent reports a node first, and its page a little later."""

    def read() -> PageCopy | None:
        with suppress(FileNotFoundError):
            return agents.copy_of(member.page)
        return None

    wait(read)
    return agents.copy_of(member.page)


def is_in(room: RunController, state: State) -> Callable[[], bool]:
    return lambda: room.status().state is state


def test_a_farm_here_is_led_from_its_start_to_its_end(farm: Farm) -> None:
    room = farm.open()
    room.configure(EXCHANGE, [*SMALL, 'farm.nodes=["here", "here"]'])
    room.arm()
    assert room.status().run == 1
    assert [(member.rank, member.machine) for member in room.status().members] == [(0, "here"), (1, "here")]
    assert room.status().node_page == members(room)[0].page
    with Catalogue(of_runs_in(farm.runs)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "ready"
        room.start()
        wait(lambda: catalogue.runs.get(1)["state"] == "running")
        room.stop()
        wait(is_in(room, State.CONFIGURED))
        row = catalogue.runs.get(1)
    assert (row["state"], row["exit_code"], row["balanced"]) == ("ended", 0, True)
    assert room.status().members == ()


@pytest.mark.long
def test_a_farm_that_is_aborted_leaves_an_aborted_run(farm: Farm) -> None:
    room = farm.open()
    room.configure(EXCHANGE, SMALL)
    room.arm()
    room.abort()
    room.arm()
    room.start()
    room.abort()
    assert room.status().state is State.CONFIGURED
    with Catalogue(of_runs_in(farm.runs)) as catalogue:
        assert [row["state"] for row in catalogue.runs.find()] == ["aborted", "aborted"]


def test_a_run_continues_without_a_node_that_dies(farm: Farm) -> None:
    room = farm.open()
    room.configure(EXCHANGE, [*SMALL, 'farm.nodes=["here", "here", "here"]'])
    room.arm()
    room.start()
    sight = RunSampler(room.status)
    wait(lambda: sight.look().rates.get("built_hz", 0) > 0)
    assert [one.state for one in sight.last.members] == [LIVE] * 3
    os.kill(process_of(members(room)[2]), signal.SIGKILL)
    wait(lambda: members(room)[2].state == "gone")
    wait(lambda: sight.look().figures.get("nodes_gone"))
    assert [one.state for one in sight.last.members] == [LIVE, LIVE, SILENT]
    built = sight.last.flow.built if sight.last.flow else 0
    wait(lambda: sight.look().flow and sight.last.flow.built > built + 10_000)
    assert not sight.last.balance.off, "what a dead node left open is in no row"
    assert members(room)[2].cause == "killed by signal 9"
    assert room.status().state is State.RUNNING
    room.stop()
    wait(is_in(room, State.CONFIGURED))


def test_the_death_of_the_node_that_leads_is_an_error_with_its_cause(farm: Farm) -> None:
    room = farm.open()
    room.configure(EXCHANGE, SMALL)
    room.arm()
    room.start()
    os.kill(process_of(members(room)[0]), signal.SIGKILL)
    wait(is_in(room, State.ERROR))
    assert "killed by signal 9" in room.status().cause
    with Catalogue(of_runs_in(farm.runs)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "crashed"


@pytest.mark.long
def test_a_node_that_dies_before_the_start_ends_the_run_before_it_begins(farm: Farm) -> None:
    room = farm.open()
    room.configure(EXCHANGE, SMALL)
    room.arm()
    os.kill(process_of(members(room)[1]), signal.SIGKILL)
    wait(is_in(room, State.ERROR))
    assert "is gone before the start: killed by signal 9" in room.status().cause


def test_a_wrong_configuration_of_a_node_is_the_cause_that_is_reported(farm: Farm) -> None:
    room = farm.open()
    room.configure(EXCHANGE, [*SMALL, 'exchange.roles=["em+ru+bu", "ru", "bu"]'])
    with pytest.raises(NotDoneError, match=r"exchange\.roles"):
        room.arm()


def test_nodes_elsewhere_take_part(with_agents: Farm) -> None:
    farm, room = with_agents, with_agents.room
    room.configure(EXCHANGE, [*SMALL, 'farm.nodes=["here", "rack1", "rack2"]'])
    room.arm()
    wait(lambda: all(member.page for member in room.status().members))
    assert [member.machine for member in room.status().members] == ["here", "rack1", "rack2"]
    room.start()
    assert farm.agents is not None
    page = page_of(farm.agents, members(room)[2])
    assert page.header.chain == "exchange"
    assert page.header.process == process_of(members(room)[2])
    assert [(row["name"], len(row["nodes"])) for row in farm.agents.as_rows()] == [("rack1", 1), ("rack2", 1)]
    run = Path(room.status().directory).name
    assert farm.agents.as_rows()[1]["nodes"] == [{"run": run, "node": 2}]
    with pytest.raises(OSError, match="has announced no page"):
        farm.agents.copy_of("rack1:anello.node.1")
    room.stop()
    wait(is_in(room, State.CONFIGURED))
    with Catalogue(of_runs_in(farm.runs)) as catalogue:
        row = catalogue.runs.get(1)
    assert (row["state"], row["exit_code"], row["balanced"]) == ("ended", 0, True)
    wait(lambda: {node.state for agent in farm.agents.present for node in agent.nodes} == {"ended"})
    assert [row["nodes"] for row in farm.agents.as_rows()] == [[], []]


def test_a_machine_without_an_agent_is_named(with_agents: Farm) -> None:
    room = with_agents.room
    room.configure(EXCHANGE, [*SMALL, 'farm.nodes=["here", "rack7"]'])
    with pytest.raises(NotDoneError, match="there is no agent called rack7; there are rack1, rack2"):
        room.arm()


def test_a_run_outlives_its_agents_and_its_control_room(with_agents: Farm) -> None:
    farm, room = with_agents, with_agents.room
    room.configure(EXCHANGE, [*SMALL, 'farm.nodes=["here", "rack1", "rack2"]'])
    room.arm()
    room.start()
    wait(lambda: all(member.page for member in room.status().members))
    before = room.status().members
    farm.processes["rack1"].kill()
    farm.processes["rack1"].wait()
    farm.opened.close()
    room = farm.open()
    assert room.status().state is State.RUNNING
    wait(lambda: members(room)[2] == before[2])  # rack2 has come again by itself
    assert members(room)[1] == FarmNode(1, "rack1", cause="no agent rack1 answers")
    farm.start_agent("rack1")
    wait(lambda: members(room)[1] == before[1])
    room.stop()
    wait(is_in(room, State.CONFIGURED))
    with Catalogue(of_runs_in(farm.runs)) as catalogue:
        assert catalogue.runs.get(1)["state"] == "ended"


@pytest.mark.long
def test_the_death_of_a_node_elsewhere_is_reported(with_agents: Farm) -> None:
    room = with_agents.room
    room.configure(EXCHANGE, [*SMALL, 'farm.nodes=["here", "rack1", "rack2"]'])
    room.arm()
    room.start()
    wait(lambda: members(room)[1].page)
    os.kill(process_of(members(room)[1]), signal.SIGKILL)
    wait(lambda: members(room)[1].state == "gone")
    assert members(room)[1].cause == "killed by signal 9"
    assert room.status().state is State.RUNNING
    room.stop()
    wait(is_in(room, State.CONFIGURED))
