# SPDX-License-Identifier: Apache-2.0
"""Runs the detector that tests/package builds out of tree: try_detector.py INSTALLED

INSTALLED holds its package. To it are added the entry point that an installed distribution has, and a package anello
that does not see the detectors of the source tree, so that nothing but the entry point leads to it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "km3net"
RUN = ["run.display=off", "run.duration_s=1", "boards.singles_hz=1000", "boards.pool_slices=3"]
IS_ITS_OWN = f"""
import anello._engine
from anello import registry
from anello.engine import compiled_part

assert registry.part("{NAME}", "chain").__module__ == "{NAME}.chain"
own, ours = compiled_part("{NAME}"), anello._engine
assert own.__name__ == "{NAME}._engine", own
assert own.Node is not ours.{NAME}.Node
assert own.ConfigError is not ours.ConfigError
assert own.set_nanet_library is not ours.set_nanet_library  # compiled_part has given both the card's path
for module, node in ((own, own.Node), (ours, ours.{NAME}.Node)):  # each raises its own
    try:
        node({{}})
    except ValueError as error:
        assert type(error) is module.ConfigError, type(error)
    else:
        raise AssertionError(module)
"""


def prepare(installed: Path) -> None:
    about = installed / f"{NAME}-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[anello.chains]\n{NAME} = {NAME}.registration:REGISTRATION\n")
    link = installed / "anello"
    link.unlink(missing_ok=True)
    link.symlink_to(ROOT / "anello")


def main(installed: Path) -> None:
    prepare(installed)
    environment = os.environ | {"PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    subprocess.run([sys.executable, "-c", IS_ITS_OWN], env=environment, check=True)
    settings = [part for setting in RUN for part in ("--set", setting)]
    config, report = str(ROOT / "detectors" / NAME / f"{NAME}.toml"), installed / "report"
    subprocess.run(
        [sys.executable, "-m", "anello", "run", config, "--report-dir", str(report), *settings],
        env=environment, check=True,
    )  # fmt: skip
    summary = json.loads((report / "summary.json").read_text())
    assert summary["balanced"], summary["verdict"]
    assert summary["rates"]["events"] > 0


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
