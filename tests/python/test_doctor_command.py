# SPDX-License-Identifier: Apache-2.0
"""The doctor as a user types it, what it prints, and what it runs on request."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import made_up_hosts as made_up
import pytest
from made_up_hosts import subject
from rich.console import Console

from anello.doctor import CHECKS, Finding, Fix, Grade, Price, examine, fixing, show
from anello.doctor.command import as_json
from anello.doctor.finding import Basis, Cost
from anello.errors import ConfigError
from anello.host import machine
from anello.host.ethtool import features
from anello.host.host import CannotTell
from anello.host.machine import ThisMachine

ROOT = Path(__file__).parents[2]
EXIT_CODES = (0, 4)
NOBODY = 65534


def doctor(*arguments: str, user: int | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "160", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "anello", "doctor", *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False, user=user,
    )  # fmt: skip


def unprivileged() -> int | None:
    """Id of a user without rights; None if the present user is one."""
    return NOBODY if os.geteuid() == 0 else None


def can_be_read_by_all() -> bool:
    paths = (Path(sys.executable), ROOT / "anello")
    return all(parent.stat().st_mode & 0o005 for path in paths for parent in (path, *path.parents) if parent.is_dir())


# --- As a user types it -------------------------------------------------------------------------------------------
@pytest.mark.process
def test_json_tells_everything_about_this_machine() -> None:
    done = doctor("--json")
    assert done.returncode in EXIT_CODES, done.stderr
    report = json.loads(done.stdout)
    assert {finding["check"] for finding in report["findings"]} == {check.name for check in CHECKS}
    assert report["bad"] == (done.returncode == 4)
    assert report["bad"] == any(finding["result"] == "bad" for finding in report["findings"])
    assert report["outcomes"] == []
    prices = {finding["check"] for finding in report["findings"] if finding["prices"]}
    assert {"hiccups", "clock"} <= prices


@pytest.mark.process
def test_fixes_are_printed_as_a_script_for_the_configuration() -> None:
    done = doctor("detectors/rich/na62-rich.toml", "--interface", "lo", "--fix")
    assert done.returncode in EXIT_CODES, done.stderr
    assert done.stdout.startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n"], input=done.stdout, text=True, check=False).returncode == 0


@pytest.mark.skipif(os.geteuid() == 0 and not can_be_read_by_all(), reason="only root can read this checkout")
@pytest.mark.process
def test_nothing_is_changed_without_rights() -> None:
    refused = doctor("--fix", "--yes", user=unprivileged())
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "only root may change the host" in refused.stderr
    done = doctor("--json", user=unprivileged())
    assert done.returncode in EXIT_CODES, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--yes"], "--yes: must come with --fix (given: --yes alone). anello doctor --fix shows what would be run"),
        (["none.toml"], "none.toml: must be a readable file (given: No such file or directory). Check the path"),
    ],
)
@pytest.mark.process
def test_wrong_use(arguments: list[str], message: str) -> None:
    done = doctor(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"anello: {message}\n")


@pytest.mark.process
def test_an_interface_that_is_not_there() -> None:
    done = doctor("--interface", "$(reboot)")
    assert done.returncode == 2
    assert done.stderr.startswith("anello: --interface: must be one of ")


# --- What it runs -------------------------------------------------------------------------------------------------
def with_fix(check: str, *commands: str, persist: str = "", advice: str = "") -> Finding:
    return Finding(check, "why", Grade.BAD, "what", Fix(commands, persist, advice))


@pytest.mark.process
def test_only_commands_are_run_and_each_outcome_is_reported(tmp_path: Path) -> None:
    findings = [
        with_fix("clock", f"touch {tmp_path}/run", "echo no way >&2; exit 3", persist=f"touch {tmp_path}/persist"),
        with_fix("cores", advice=f"touch {tmp_path}/advice"),
        with_fix("thp", "exit 2"),
    ]
    outcomes = fixing.carry_out(findings)
    assert [(one.check, one.failure) for one in outcomes] == [
        ("clock", ""), ("clock", "no way"), ("thp", "exit code 2"),
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.process
def test_a_command_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixing, "TIMEOUT_S", 0.1)
    [outcome] = fixing.carry_out([with_fix("clock", "exec tail -f /dev/null")])
    assert outcome.failure == "it took longer than 0.1 s"


def test_what_was_touched_is_examined_again(tmp_path: Path) -> None:
    backlog = "proc/sys/net/core/netdev_max_backlog"
    host = made_up.host(tmp_path, made_up.well_kept() | {backlog: "1000"}, hiccup_s=1.0)
    findings = examine(host, subject())
    assert [finding.check for finding in findings[:2]] == ["hiccups", "backlog"]
    made_up.write(tmp_path, {backlog: "30000"})
    outcomes = [fixing.FixOutcome("backlog", "sysctl", "")]
    renewed = {finding.check: finding.result for finding in fixing.examine_again(host, subject(), findings, outcomes)}
    assert len(renewed) == len(CHECKS)
    assert (renewed["backlog"], renewed["hiccups"]) == (Grade.GOOD, Grade.BAD)


def test_root_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(PermissionError, match="only root"):
        fixing.require_root()


def test_yes_alone_is_refused_before_anything_is_looked_at() -> None:
    from anello.doctor.command import Options, run

    with pytest.raises(ConfigError, match="--fix"):
        run(None, Options(interface=None, as_json=False, fix=False, yes=True))


# --- What it prints -----------------------------------------------------------------------------------------------
def test_the_script_comments_what_is_not_to_be_run() -> None:
    lines = list(fixing.script([with_fix("clock", "first", "second", persist="keep", advice="think")]))
    assert lines[2:] == ["", "# clock, bad: what", "first", "second", "# to keep it: keep", "# think"]


def test_what_a_file_holds_cannot_leave_its_comment(tmp_path: Path) -> None:
    governor = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    host = made_up.host(tmp_path, made_up.well_kept() | {governor: "slow\nreboot\x1b[2J"})
    lines = "\n".join(fixing.script(examine(host, subject(), ["governor"]))).splitlines()
    assert "reboot" not in lines
    assert not any("\x1b" in line for line in lines)


def test_the_terminal_shows_the_worst_first_with_its_command(tmp_path: Path) -> None:
    host = made_up.host(tmp_path, made_up.laptop(), socket_buffer=1000)
    text = io.StringIO()
    show.show(examine(host, subject()), "eth0", Console(file=text, width=160))
    lines = text.getvalue().splitlines()
    first = next(i for i, line in enumerate(lines) if "bad" in line)
    assert "socket-buffer" in lines[first]
    assert any("$ sysctl -w net.core.rmem_max=67108864" in line for line in lines[first : first + 5])
    left_out = "numa, interleaving, far-threads, smt, isolation, fabric"
    assert f"not applicable: {left_out} (--json tells why)" in text.getvalue()


def test_outcomes_on_the_terminal() -> None:
    text = io.StringIO()
    findings = [Finding("clock", "why", Grade.GOOD, "what")]
    outcomes = [fixing.FixOutcome("clock", "first", ""), fixing.FixOutcome("clock", "second", "no way")]
    show.show_outcomes(outcomes, findings, Console(file=text, width=160))
    assert text.getvalue() == "clock: first: done; now good\nclock: second: failed: no way; now good\n"


def test_json_holds_each_part() -> None:
    finding = Finding("clock", "why", Grade.BAD, "what", Fix(("a",), "b", "c"), (Price(1.5, "ns", "takes"),),
                      Cost(Basis.MEASURED, 0.015, "c"))  # fmt: skip
    report = json.loads(as_json([finding], "eth0", [fixing.FixOutcome("clock", "a", "no")]))
    assert report == {
        "interface": "eth0",
        "bad": True,
        "findings": [{
            "check": "clock", "result": "bad", "what": "what", "why": "why",
            "fix": {"commands": ["a"], "persist": "b", "advice": "c"},
            "prices": [{"of": "takes", "value": 1.5, "unit": "ns"}],
            "p99.9": {"basis": "measured", "us": 0.015, "of": "c"},
        }],
        "outcomes": [{"check": "clock", "command": "a", "failure": "no"}],
    }  # fmt: skip


# --- This machine -------------------------------------------------------------------------------------------------
def test_prices_of_this_machine_are_plausible() -> None:
    here = ThisMachine()
    assert 0 <= here.clock_ns() < 1e5
    assert here.wake_up_s() > 0
    pages = here.page_cost()
    assert 0 < pages.small_ns < 1e4
    try:
        cost = here.receive_cost()
    except (CannotTell, OSError) as reason:
        pytest.skip(f"loopback: {reason}")
    assert 10 < cost.plain_ns < 1e6
    if cost.with_gro_ns is not None:
        assert cost.with_gro_ns < cost.plain_ns


def test_an_engine_that_refuses_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(interface: str) -> list[dict[str, object]]:
        raise RuntimeError(f"{interface}: no such device")

    monkeypatch.setattr(machine, "_engine", lambda: SimpleNamespace(receive_backends=refuse))
    with pytest.raises(CannotTell, match="eth9: no such device"):
        ThisMachine().receive_backends("eth9")
    monkeypatch.setattr(machine, "_engine", SimpleNamespace)
    with pytest.raises(CannotTell, match="this build of the engine does not tell"):
        ThisMachine().receive_backends("eth9")


def test_loopback_has_features_and_no_ring() -> None:
    assert "rx-gro" in features("lo")
    with pytest.raises(OSError, match=r"not supported|[Nn]o such"):
        ThisMachine().rx_ring("lo")
    assert ThisMachine().interface_with("127.0.0.1") == "lo"
    with pytest.raises(OSError, match=r"[Nn]o such device"):
        features("not-there")
