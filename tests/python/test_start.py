# SPDX-License-Identifier: Apache-2.0
"""Starting a command: what it loads, and what Ctrl-C does from its first instruction on."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from anello.catalogue.cli import HERE
from anello.configuration.python_keys import RunKeys

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
CONFIG = "detectors/rich/na62-rich.toml"
LIMIT_S = 120
FOLDER = Path("/dev/shm")

# --- What is loaded ---------------------------------------------------------------------------------------------------
HEAVY = ("anello._engine", "asyncio", "email", "fastapi", "h5py", "numpy", "plotly", "prometheus_client", "pydantic",
         "rich", "sqlite3", "typer", "uvicorn", "zmq")  # fmt: skip


def loaded(code: str) -> set[str]:
    script = f"import sys\ntry:\n    {code}\nfinally:\n    print(*(one for one in {HEAVY} if one in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import anello", set()),
        ("import anello.__main__", set()),
        ("import anello.cli", {"typer"}),
        ("sys.argv = ['anello', '--help']; from anello.__main__ import main; main()", {"typer"}),
        ("from anello.configuration.load import load; load(None)", {"email", "pydantic"}),
        ("import anello.run.led_source", set()),
        ("import anello.run.run, anello.report.report", {"email", "numpy", "pydantic", "rich", "sqlite3"}),
    ],
)
def test_nothing_is_loaded_that_is_not_used(code: str, allowed: set[str]) -> None:
    assert loaded(code) <= allowed


def test_a_run_is_reported_without_plotly_s_python(tmp_path: Path) -> None:
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    given = ["run", CONFIG, "--report-dir", str(tmp_path / "report"), *SHORT]
    found = loaded(f"sys.argv = ['anello', *{given!r}]; from anello.__main__ import main; main()")
    assert (tmp_path / "report/report.html").exists()
    assert found <= {"anello._engine", "email", "h5py", "numpy", "pydantic", "rich", "sqlite3", "typer"}


def test_the_function_stays_where_the_module_of_its_name_is_loaded() -> None:
    for code in ("import anello.subscribe", "from anello.subscribe import Record", "import anello"):
        command = f"{code}\nimport anello\nassert anello.subscribe.__name__ == 'subscribe', anello.subscribe"
        subprocess.run([sys.executable, "-c", command], cwd=ROOT, timeout=LIMIT_S, check=True)


def test_commands_look_where_runs_are_by_default() -> None:
    """The value is repeated there: keys are declared with a library that these commands do not load."""
    assert str(HERE) == RunKeys.model_fields["directory"].default


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------
SHORT = [part for one in ("run.duration_s=0.1", "source.burst_ms=100", "run.display=off", "source.rate_hz=20000",
                            "receive.events_per_buffer=32")
         for part in ("--set", one)]  # fmt: skip
# The script that pip writes, but with Ctrl-C not ignored, as it is in a process that a script began with &.
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
{before}
sys.argv = ["anello", *sys.argv[1:]]
from anello.__main__ import main
{then}
sys.exit(main())
"""
WHEN_LOADED = """
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""


def start(*arguments: str, before: str = "", then: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND.format(before=before, then=then), *arguments],
        cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def named(words: str) -> Iterator[str]:
    """Command lines of processes that have these words."""
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = one.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if words in line:
            yield line


def ended(process: subprocess.Popen[str], folder: Path) -> tuple[int, str]:
    """Exit code and standard error; the process leaves no child and no page."""
    _, errors = process.communicate(timeout=LIMIT_S)
    assert "Traceback" not in errors, errors
    assert list(named(str(folder))) == []
    assert [path.name for path in FOLDER.glob(f"anello.*.{process.pid}")] == []
    return process.returncode, errors


@pytest.mark.parametrize("module", ["anello.cli", "typer", "inspect", "anello.registry", "json"])
@pytest.mark.parametrize("arguments", [["--help"], ["run", CONFIG], ["config", "show"], ["doctor"]])
def test_ctrl_c_while_the_command_line_is_loaded(module: str, arguments: list[str], tmp_path: Path) -> None:
    code, errors = ended(start(*arguments, then=WHEN_LOADED.format(module=module)), tmp_path)
    assert (code, errors) == (130, "anello: stopped by Ctrl-C before anything began\n")


@pytest.mark.parametrize(
    "module",
    ["pydantic", "anello.run.run", "numpy", "anello._engine",
     *(pytest.param(one, marks=pytest.mark.long) for one in
       ("anello.configuration.load", "pydantic_core", "anello.rich.configuration.config", "numpy.linalg",
        "rich.console", "anello.catalogue.entry", "sqlite3", "anello.rich.chain", "anello.system.link"))],
)  # fmt: skip
def test_ctrl_c_while_a_run_is_made_ready(module: str, tmp_path: Path) -> None:
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    given = ["run", CONFIG, "--report-dir", str(tmp_path / "report"), *SHORT, "--set", f"run.directory={tmp_path}"]
    code, errors = ended(start(*given, then=WHEN_LOADED.format(module=module)), tmp_path)
    assert code == 130
    assert errors.splitlines()[-1] in (
        "anello: the run was ended before it began", "anello: stopped by Ctrl-C before anything began"
    )  # fmt: skip


@pytest.mark.parametrize(
    "module",
    ["anello.run.led_source", "anello.configuration.load", "pydantic", "numpy", "anello.rich.chain", "anello._engine"],
)
def test_ctrl_c_while_front_ends_are_made_ready(module: str, tmp_path: Path) -> None:
    given = ["source", "--led", CONFIG, *SHORT, "--set", "source.ports=[40001,40002,40003,40004]", "--truth",
             str(tmp_path / "truth.npz")]  # fmt: skip
    code, errors = ended(start(*given, then=WHEN_LOADED.format(module=module)), tmp_path)
    assert (code, errors) == (130, "anello: stopped by Ctrl-C before anything began\n")


@pytest.mark.parametrize(
    "delay_s",
    [0, 0.1, 0.3, 0.6,
     *(pytest.param(one, marks=pytest.mark.long) for one in (0.02, 0.05, 0.15, 0.2, 0.4, 0.5, 0.8, 1.0, 1.5))],
)  # fmt: skip
def test_ctrl_c_at_any_time_of_a_run(delay_s: float, tmp_path: Path) -> None:
    pytest.importorskip("anello._engine", reason="the compiled engine is not built")
    endless = ["--set", "run.duration_s=0", *SHORT[2:], "--set", f"run.directory={tmp_path}"]
    process = start("run", CONFIG, "--report-dir", str(tmp_path / "report"), *endless,
                    then="print('begun', flush=True)")  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    code, errors = ended(process, tmp_path)
    assert (tmp_path / "report/report.html").exists() == (code != 130), errors
    assert code in (0, 5, 130), errors  # 5: a busy machine may have lost data before


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    before = "signal.signal(signal.SIGINT, signal.SIG_IGN)"
    process = start("--help", before=before, then=WHEN_LOADED.format(module="anello.cli"))
    output, errors = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, errors) == (0, ""), output


def test_ctrl_c_that_cannot_be_raised_comes_again(tmp_path: Path) -> None:
    """Ctrl-C comes in the callback of a weak reference while doctor checks the machine."""
    once = """
class Thing: pass
import weakref, anello.system.interruption
def dies(_): signal.raise_signal(signal.SIGINT)
def raise_and_lose(raise_from_now_on=anello.system.interruption.raise_from_now_on):
    raise_from_now_on()
    thing = Thing()
    lost = weakref.ref(thing, dies)
    del thing
anello.system.interruption.raise_from_now_on = raise_and_lose
"""
    assert ended(start("doctor", then=once), tmp_path) == (130, "")


def test_the_second_ctrl_c_ends_what_is_made_ready_at_once(tmp_path: Path) -> None:
    given = ["run", CONFIG, "--report-dir", str(tmp_path / "report"), *SHORT]
    twice = WHEN_LOADED.format(module="anello.run.run") + WHEN_LOADED.format(module="numpy")
    assert ended(start(*given, then=twice), tmp_path)[0] == 130
    assert not (tmp_path / "report").exists()


def test_both_ways_to_the_command_begin_with_ctrl_c() -> None:
    """The script that ./dev writes, and the one that pip writes of the package."""
    assert "from anello.__main__ import main" in (ROOT / "dev").read_text()
    assert 'anello = "anello.__main__:main"' in (ROOT / "pyproject.toml").read_text()
