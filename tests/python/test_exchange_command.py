# SPDX-License-Identifier: Apache-2.0
"""`anello exchange` as a user types it, as far as no engine is needed; whole runs are in test_exchange_run.py."""

import io
import stat
from pathlib import Path

import exchange_synthetic as synthetic
import pytest
from test_cli import anello

from anello.errors import ConfigError
from anello.exchange import local
from anello.exchange.command import Options, listening_at, packing_for
from anello.exchange.local import cores_of_nodes
from anello.system.exit_codes import LOST

CONFIG = "configs/lhcb-exchange.toml"
MEET = "tcp://127.0.0.1:7000"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(local="2", rendezvous=MEET), "--local: cannot be given together with --rendezvous"),
        (Options(rank=1), "--rank: belongs to --rendezvous"),
        (Options(serve=True), "--serve: belongs to --rendezvous"),
        (Options(keys=Path("keys")), "--keys: belongs to --rendezvous"),
        (Options(message_sizes="12e3"), "--message-sizes: belongs to --local"),
        (Options(timeout_s=0), "--timeout: must be above 0"),
        (Options(rendezvous="host:7000", nodes=2, rank=0), "--rendezvous: must be tcp://HOST:PORT"),
        (Options(rendezvous=MEET, rank=0), "--nodes: must be 1 to 1024 (given: None)"),
        (Options(rendezvous=MEET, nodes=2), "--rank: must be 0 to 1 (given: None)"),
        (Options(rendezvous=MEET, nodes=2, rank=2), "--rank: must be 0 to 1 (given: 2)"),
    ],
)
def test_wrong_options_are_one_line(options: Options, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options.check()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("options", [
    Options(), Options(local="2"), Options(rendezvous=MEET, nodes=2, rank=1),
    Options(rendezvous=MEET, nodes=2, serve=True), Options(rendezvous="ipc:///tmp/x", nodes=1, rank=0),
])  # fmt: skip
def test_right_options(options: Options) -> None:
    options.check()


@pytest.mark.parametrize("text", ["", "x", "0", "2,", "1,,2", "-1", "4000", "1.5"])
def test_wrong_sizes(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--local: must be a number of nodes"):
        Options(local=text).local_sizes()
    assert Options(local="1, 2,8").local_sizes() == [1, 2, 8]


def test_sizes_of_messages_are_events_of_a_packet() -> None:
    config = synthetic.config()  # fragments of 200 bytes, 206 with their headers
    assert packing_for(config, "1, 12e3,123648,1.2e6") == [1, 58, 600, 5825]
    for text in ("", "x", "12e3,", "1e99", "inf", "nan", "1.4e7"):
        with pytest.raises(ConfigError, match=r"^--message-sizes: must be bytes, at most 13,500,210"):
            packing_for(config, text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "CONFIG: must be given (given: nothing). For example configs/lhcb-exchange.toml"),
        ([CONFIG], "anello exchange: must have an option that says how its nodes start (given: nothing). --local N "
         "on one machine; mpirun -n N; or --rendezvous, --rank and --nodes"),
        (["detectors/rich/na62-rich.toml", "--local", "2"],
         'chain: must be "exchange" for this command (given: "rich"). anello run runs the chain rich'),
        ([CONFIG, "--local", "2", "--set", "fabric.port=5"], "fabric.port: must be 0 where several nodes share a "
         "machine: any free one (given: 5). Leave it out"),
        ([CONFIG, "--local", "1,2", "--message-sizes", "12e3"],
         "--message-sizes: goes with one number of nodes (given: --local 1,2). Make a command of each"),
    ],
)  # fmt: skip
@pytest.mark.process
def test_wrong_use_is_one_line_and_exit_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = anello("exchange", *arguments, "--report-dir", str(tmp_path / "run"))
    assert (done.returncode, done.stderr) == (2, f"anello: {message}\n")


@pytest.mark.process
def test_keys_are_made_once(tmp_path: Path) -> None:
    done = anello("exchange", "--make-keys", str(tmp_path / "keys"))
    assert done.returncode == 0, done.stderr
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    assert modes["node.key_secret"] == modes["rendezvous.key_secret"] == 0o600
    assert len(modes) == 4
    again = anello("exchange", "--make-keys", str(tmp_path / "keys"))
    assert again.returncode == 2
    assert "must name a folder without keys" in again.stderr


@pytest.mark.process
def test_a_rendezvous_alone_names_those_who_did_not_come(tmp_path: Path) -> None:
    done = anello("exchange", "--rendezvous", f"ipc://{tmp_path}/meet", "--nodes", "3", "--serve", "--timeout", "0.2")
    assert done.returncode == 1
    assert "nodes 0, 1, 2 did not come within 0.2 s" in done.stdout


@pytest.mark.parametrize(
    ("endpoint", "listening"),
    [
        ("tcp://10.0.0.1:7000", "tcp://10.0.0.1:7000"), ("tcp://node1:7000", "tcp://*:7000"),
        ("tcp://[::1]:7000", "tcp://[::1]:7000"), ("ipc:///tmp/x", "ipc:///tmp/x"),
    ],
)  # fmt: skip
def test_where_a_rendezvous_listens(endpoint: str, listening: str) -> None:
    assert listening_at(endpoint) == listening


def test_nodes_have_cores_of_their_own_where_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert cores_of_nodes(synthetic.config(), 1) == [[0]]
    assert cores_of_nodes(synthetic.config(), 2) == []
    assert cores_of_nodes(synthetic.config("threads.cores=[0]"), 1) == []


class Ended:
    """A node's process that has ended with this exit code."""

    def __init__(self, code: int) -> None:
        self._code = code

    def poll(self) -> int:
        return self._code


@pytest.mark.parametrize(
    ("codes", "wanted"),
    [
        ((0, 0, 0), 0), ((LOST, 0, 0), LOST),
        ((1, 0, 0), 1),  # as where there is no room for the report: whatever the others say
        ((-9, LOST, 0), LOST), ((-9, 1, 1), 1), ((-9, 0, 0), 1),
    ],
)  # fmt: skip
def test_a_run_ends_as_node_0_did_or_where_that_was_killed_as_the_next(codes: tuple[int, ...], wanted: int) -> None:
    nodes = object.__new__(local.LocalNodes)
    nodes._children = {rank: Ended(code) for rank, code in enumerate(codes)}  # type: ignore[misc]
    nodes._complaints, nodes._asked = {rank: io.StringIO() for rank in range(len(codes))}, False
    assert nodes.exit_code() == wanted
