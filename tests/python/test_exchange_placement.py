# SPDX-License-Identifier: Apache-2.0
"""Where a node of the exchange runs, on machines that only exist as files."""

import os
from pathlib import Path
from types import SimpleNamespace

import exchange_synthetic as synthetic
import made_up_hosts as made_up
import pytest
from test_cli import anello
from test_doctor import two_processors

from anello.configuration.load import load
from anello.exchange import placement
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.local import cores_of_nodes
from anello.exchange.placement import near_card
from anello.run.placement import UsableCores

TCP = "fabric.transport=tcp"
ALL = frozenset(range(32))
FAR = frozenset({*range(8, 16), *range(24, 32)})  # cores of node 1, where the server's cards are
MLX = "sys/class/infiniband"


def infiniband(*nodes: int) -> made_up.Files:
    """A device at each of these memory nodes."""
    return {f"{MLX}/mlx5_{i}/device/numa_node": str(node) for i, node in enumerate(nodes)}


def near(
    folder: Path, *settings: str, files: made_up.Files | None = None, allowed: frozenset[int] = ALL
) -> tuple[frozenset[int], str]:
    host = made_up.host(folder, two_processors() | (files or {}), interface_with="ens1f0")
    found = near_card(synthetic.config(*settings), host, allowed)
    return found.cores, found.words


def test_beside_the_card_with_the_address(tmp_path: Path) -> None:
    assert near(tmp_path, TCP) == (FAR, "logical cores 8-15,24-31, memory node 1, next to ens1f0")


def test_only_cores_that_the_process_may_use(tmp_path: Path) -> None:
    assert near(tmp_path, TCP, allowed=frozenset({0, 9, 25}))[0] == {9, 25}
    none = near(tmp_path, TCP, allowed=frozenset({0, 1}))
    assert none == (frozenset(), "anywhere: this process may use no core of memory node 1, where ens1f0 is")


def test_beside_infiniband(tmp_path: Path) -> None:
    files = infiniband(0, 1)
    assert near(tmp_path, "fabric.ucx_net_devices=mlx5_1:1", files=files)[0] == FAR
    assert near(tmp_path, "fabric.ucx_net_devices=mlx5_0:1", files=files)[0] == ALL - FAR
    both = (frozenset(), "anywhere: mlx5_0, mlx5_1 belong to no single memory node")
    assert near(tmp_path, files=files) == near(tmp_path, "fabric.ucx_net_devices=all", files=files) == both


def test_the_only_infiniband_device(tmp_path: Path) -> None:
    assert near(tmp_path, files=infiniband(1))[0] == FAR
    unknown = {f"{MLX}/mlx5_0/device/numa_node": "-1"}
    assert near(tmp_path / "other", files=unknown)[1] == "anywhere: mlx5_0 belong to no single memory node"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["threads.cores=[3]"], "threads.cores says where"),
        (["threads.near=anywhere"], 'threads.near = "anywhere"'),
        ([], "no card is known to carry the data"),
        (["fabric.ucx_net_devices=mlx9_9:1"], "no card is known to carry the data"),
    ],
)
def test_anywhere(tmp_path: Path, settings: list[str], why: str) -> None:
    assert near(tmp_path, *settings) == (frozenset(), f"anywhere: {why}")


def test_machines_of_one_node_or_without_a_picture(tmp_path: Path) -> None:
    config = synthetic.config(TCP)
    one = {path: text for path, text in two_processors().items() if "/node1/" not in path}
    words = near_card(config, made_up.host(tmp_path / "one", one), ALL).words
    assert words == "anywhere: the machine has one memory node"
    bare = near_card(config, made_up.host(tmp_path / "bare", made_up.container()), ALL)
    assert not bare.cores
    assert "there is none" in bare.words


def test_the_thread_is_confined_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[frozenset[int]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: asked.append(cores))
    for cores in (frozenset[int](), FAR):
        place = placement.NodePlacement(cores, "made up")
        monkeypatch.setattr(placement, "near_card", lambda *_, place=place: place)
        assert placement.take_place(synthetic.config()) == place
    assert asked == [FAR]


@pytest.mark.process
def test_the_doctor_tells() -> None:
    done = anello("doctor", "configs/lhcb-exchange.toml", "--topology")
    assert done.returncode == 0, done.stderr
    assert "a node of the exchange: " in done.stdout


RICH_FARM = Path(__file__).parents[2] / "detectors/rich/na62-rich-farm.toml"


@pytest.fixture
def unclaimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores that no other process claims, and a process that stays where it is."""
    monkeypatch.setattr("anello.run.placement._claimed", lambda core, until_end: True)
    monkeypatch.setattr("os.sched_setaffinity", lambda pid, cores: None)


@pytest.mark.usefixtures("unclaimed")
def test_behind_a_chain_the_exchange_and_its_lanes_have_cores() -> None:
    given = load_exchange(RICH_FARM)
    with placement.placed(given, lambda: UsableCores(frozenset(range(8)))) as (config, words):
        assert config.of_chain is not None
        assert config.threads.cores == [7]
        assert config.of_chain.threads.cores == [6, -1]
        assert config.of_chain.threads.priority == "realtime"
        assert config.fingerprint() == given.fingerprint()
    assert words == "2 threads on the data's way on cores 6-7, everything else on cores 0-5"


@pytest.mark.usefixtures("unclaimed")
def test_with_too_few_cores_the_system_places_a_farms_node() -> None:
    given = load_exchange(RICH_FARM)
    with placement.placed(given, lambda: UsableCores(frozenset(range(2)))) as (config, words):
        assert config is given
    assert "need 3 cores, there are 2" in words


@pytest.mark.parametrize(
    ("setting", "chain_setting"), [("threads.cores=[0]", ""), ("", "threads.cores=[0]"), ("", "threads.placement=free")]
)
def test_where_keys_say_where_a_farms_node_runs_they_stand(setting: str, chain_setting: str) -> None:
    more = [f'input.settings=["{chain_setting}"]'] if chain_setting else []
    given = load_exchange(RICH_FARM, *filter(None, [setting]), *more)
    with placement.placed(given, lambda: UsableCores(frozenset(range(8)))) as (config, words):
        assert config is given
    assert words == ""


def test_a_generator_waits_for_nobody() -> None:
    given = synthetic.config()
    with placement.placed(given, lambda: UsableCores(frozenset(range(8)))) as (config, words):
        assert (config, words) == (given, "")


def test_nodes_of_one_machine_choose_by_themselves_where_there_is_room_for_their_chains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for n_cores, chosen in ((4, [[0], [1]]), (5, [])):
        found = SimpleNamespace(in_order_of_use=lambda allowed, n=n_cores: list(range(n)))
        monkeypatch.setattr("anello.exchange.local.topology.read", lambda host, found=found: found)
        assert cores_of_nodes(load_exchange(RICH_FARM), 2) == chosen


def load_exchange(path: Path, *settings: str) -> ExchangeConfig:
    config = load(path, list(settings))
    assert isinstance(config, ExchangeConfig)
    return config
