# SPDX-License-Identifier: Apache-2.0
"""The command line as a user types it. What needs the engine is in test_run.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def anello(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    return subprocess.run(
        [sys.executable, "-m", "anello", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "command",
    ["run", "search", "source", "node", "exchange", "rings", "config", "counters", "doctor", "version"],
)
def test_help_of_each_command(command: str) -> None:
    done = anello(command, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "Missing argument 'CONFIG'."),
        (["frobnicate"], "No such command 'frobnicate'."),
        (["run", "none.toml"], "none.toml: must be a readable file (given: No such file or directory). Check the path"),
        (["run", "detectors/rich/na62-rich.toml", "--set", "receive.polcy=1"],
         "receive.polcy: is not a key of the configuration (given: polcy). Did you mean receive.policy?"),
        (["node", "detectors/rich/na62-rich.toml", "--duration", "-1"],
         "run.duration_s: must be at least 0 (given: -1.0). The default is 20"),
        *((([command, "configs/lhcb-exchange.toml"]),
           'chain: must be a chain with front ends for this command (given: "exchange"). anello exchange runs this '
           "configuration") for command in ("run", "search", "source", "node")),
        (["run", "detectors/rich/na62-rich.toml", "--events", "none.csv"], "none.csv: No such file or directory"),
        (["rings", "none.csv"], "none.csv: No such file or directory"),
        (["rings", "README.md"], "README.md:1: there is no column event, x_mm, y_mm; the columns are: # Anello"),
        (["rings", "none.csv", "--algorithm", "guess"],
         "--algorithm: must be one of crawford, taubin, histogram8x8, histogram, almagest, single, multiring "
         "(given: guess). The default is multiring"),
        (["rings", "none.csv", "--set", "trigger.multiring.yeild_hits=9"],
         "trigger.multiring.yeild_hits: is not a key of the configuration (given: yeild_hits). Did you mean "
         "trigger.multiring.yield_hits?"),
        (["rings", "none.csv", "--threads", "0"],
         "--threads: must be at least 1 (given: 0). Leave it out to use all cores"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line_and_exit_2(arguments: list[str], message: str) -> None:
    done = anello(*arguments)
    assert (done.returncode, done.stderr) == (2, f"anello: {message}\n")
    assert done.stdout == ""


def test_config_show_prints_a_file_that_works(tmp_path: Path) -> None:
    shown = anello("config", "show", "detectors/rich/na62-rich.toml", "--set", "receive.policy=overwrite_oldest")
    assert shown.returncode == 0
    assert 'policy = "overwrite_oldest"' in shown.stdout
    (tmp_path / "shown.toml").write_text(shown.stdout)
    assert anello("config", "show", "shown.toml", cwd=tmp_path).stdout == shown.stdout


def test_no_report_directory_is_made_by_wrong_use(tmp_path: Path) -> None:
    anello("run", str(ROOT / "detectors/rich/na62-rich.toml"), "--set", "run.seed=x", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_an_option_too() -> None:
    done = anello("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("anello ")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete_commands(shell: str) -> None:
    asked = os.environ | {
        "PYTHONPATH": str(ROOT), "_ANELLO_COMPLETE": f"complete_{shell}", "COMP_WORDS": "anello coun",
        "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "anello coun", "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip
    command = [sys.executable, "-c", "import sys; sys.argv = ['anello']; from anello.cli import main; sys.exit(main())"]
    answer = subprocess.run(command, env=asked, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert "counters" in answer.stdout, answer.stderr


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["version"], "engine"),
        (["config", "show", "detectors/rich/na62-rich.toml", "--set", "run.seed=7"], "run.seed"),
        (["plan", "--nodes", "2", "--rounds", "1", "--no-curve", "--out", "OUT"], "plan"),
    ],
)
def test_json_is_all_that_stands_on_standard_output(arguments: list[str], key: str, tmp_path: Path) -> None:
    if arguments[0] == "version":
        pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    done = anello(*(str(tmp_path) if word == "OUT" else word for word in arguments), "--json")
    printed = json.loads(done.stdout)
    assert key == "plan" or key in printed
    if key == "plan":
        assert printed == json.loads((tmp_path / "plan.json").read_text())
        assert "report: " in done.stderr
