# SPDX-License-Identifier: Apache-2.0
"""A chain of another package is there once it is installed: configuration, commands, records, and errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import anello
from anello import registry

ENTRY = "[anello.chains]\n{name} = {place}\n"
CONFIG = '''
from anello.config_base import ChainName, FrontEndsConfig
from anello.packet_chain.config import PacketThreadsSection
from anello.sections import FrontEndsRunSection, ReceiveSection, Section
from pydantic import Field

def point(azimuth: float) -> None:
    """Points the telescope."""
    print(f"pointed to {azimuth:g} degrees")

class MirrorSection(Section):
    """The mirror."""
    rate_hz: float = Field(default=10.0, gt=0, description="Hits, /s.")
    host: str = Field(default="127.0.0.1", description="Where they go.")
    ports: list[int] = Field(default=[4001], description="One for each board.")

class TelescopeConfig(FrontEndsConfig):
    """From a mirror to showers."""
    source_section = "mirror"
    chain: ChainName = Field(default="telescope", description=FrontEndsConfig.model_fields["chain"].description)
    run: FrontEndsRunSection = FrontEndsRunSection()
    receive: ReceiveSection = ReceiveSection(ports=[0])
    mirror: MirrorSection = MirrorSection()
    threads: PacketThreadsSection = PacketThreadsSection()
    front_ends = property(lambda self: self.mirror)
    n_threads = packet_bytes = property(lambda self: 1)
    def run_length(self): return {}
'''


REGISTRATION = """
from anello.registry import Registration

REGISTRATION = Registration(
    about="hits of a made-up telescope", config="telescope.config:TelescopeConfig", presentation="telescope.none:none",
    chain="telescope.none:none", feed="telescope.none:none", outputs={"showers": "what was seen"},
    commands=("telescope.config:point",), record_kinds={77: "shower"}, is_default=True,
)
"""


def installed(folder: Path, *, name: str = "telescope", place: str = "telescope.registration:REGISTRATION") -> Path:
    about = folder / "telescope-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: telescope\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY.format(name=name, place=place))
    (folder / "telescope").mkdir()
    (folder / "telescope/registration.py").write_text(REGISTRATION)
    (folder / "telescope/config.py").write_text(CONFIG)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join((str(folder), str(Path(anello.__file__).parents[1])))
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def python(folder: Path, code: str) -> str:
    ended = run(folder, "-c", code)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.process
def test_its_configuration_is_read_checked_and_explained(tmp_path: Path) -> None:
    folder = installed(tmp_path)
    (tmp_path / "mine.toml").write_text('chain = "telescope"\nmirror.rate_hz = 5.0\n')
    shown = run(folder, "-m", "anello", "config", "show", "mine.toml")
    assert "rate_hz = 5.0" in shown.stdout, shown.stderr
    assert "telescope, hits of a made-up telescope" in shown.stdout.replace("\n# ", " ")
    wrong = run(folder, "-m", "anello", "config", "show", "mine.toml", "--set", "mirror.rate_hz=0")
    assert "mirror.rate_hz: must be above 0" in wrong.stderr
    other = run(folder, "-m", "anello", "config", "show", "--set", "mirror.rate_hz=1")
    assert "belongs to the chain telescope" in other.stderr


@pytest.mark.process
def test_its_commands_records_and_outputs_are_there(tmp_path: Path) -> None:
    folder = installed(tmp_path)
    assert run(folder, "-m", "anello", "point", "12").stdout == "pointed to 12 degrees\n"
    assert python(folder, "from anello.subscribe import kinds; print(kinds()[77])") == "shower"
    code = "from anello.configuration.load import load; load(None, ['chain=exchange', 'input.from=telescope'])"
    assert "input.config: must be given where input.from is telescope" in run(folder, "-c", code).stderr
    code = "from anello.exchange.configuration.python_keys import OUTPUTS_OF_CHAINS as o; print(o['showers'])"
    assert python(folder, code) == "what was seen, with input telescope"


@pytest.mark.process
def test_it_does_not_become_the_default(tmp_path: Path) -> None:
    code = "from anello import registry; print(registry.default_chain(), *registry.names())"
    default, *names = python(installed(tmp_path), code).split()
    assert default == registry.default_chain()
    assert "telescope" in names


@pytest.mark.parametrize("chain", registry.names())
@pytest.mark.process
def test_it_cannot_replace_a_chain_of_ours(tmp_path: Path, chain: str) -> None:
    code = f"from anello import registry; print(registry.registration({chain!r}).about)"
    assert python(installed(tmp_path, name=chain), code) == registry.registration(chain).about


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("telescope.registration:Registration", "it is a type"),
        ("telescope.registration:NONE", "AttributeError"),
        ("telescope.config:point", "it must import nothing of anello but anello.registry"),
        ("binoculars:REGISTRATION", "ModuleNotFoundError: No module named 'binoculars'"),
    ],
)
@pytest.mark.process
def test_one_that_cannot_be_loaded_names_its_package(tmp_path: Path, place: str, why: str) -> None:
    ended = run(installed(tmp_path, place=place), "-m", "anello", "config", "show")
    assert ended.returncode != 0
    assert why in ended.stderr
    assert "Mend or uninstall the package telescope" in ended.stderr


def test_a_chain_without_a_part_says_so() -> None:
    with pytest.raises(KeyError, match="the chain exchange has no feed"):
        registry.part("exchange", "feed")


def test_a_chain_without_a_simulation_says_which_have_one() -> None:
    with pytest.raises(AttributeError, match="no simulation of 'exchange'; there is one of rich"):
        _ = anello.simulate.exchange
