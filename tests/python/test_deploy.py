# SPDX-License-Identifier: Apache-2.0
"""Units of systemd and the container file: as their own programs read them, and in step with ./dev."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    copied = tmp_path / unit.name.replace("@", "@rich")
    copied.write_text(unit.read_text().replace("/opt/anello/bin/anello", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", copied], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    copied.write_text(copied.read_text().replace("Restart=on-failure", "Restart=now-and-then"))
    done = subprocess.run(["systemd-analyze", "verify", copied], capture_output=True, text=True, check=False)
    assert "now-and-then" in done.stderr, "it looks at what is wrong"


def test_the_container_is_built_from_the_packages_that_dev_installs() -> None:
    of_dev = re.search(r"^build_packages=\((.*?)\)$", (ROOT / "dev").read_text(), re.DOTALL | re.MULTILINE)
    assert of_dev is not None
    needed = set(re.findall(r"lib[\w.+-]+-dev", of_dev[1]))
    build, _, run = (DEPLOY / "Containerfile").read_text().partition("\nFROM debian:bookworm-slim\n")
    assert needed == set(re.findall(r"lib[\w.+-]+-dev", build))
    assert "-dev" not in run
