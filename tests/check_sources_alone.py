# SPDX-License-Identifier: Apache-2.0
"""Each source file compiles by itself, which a unity build does not show: there a file may use what another included.

    check_sources_alone.py BUILD [JOBS]    BUILD was configured without ANELLO_UNITY

Nothing is generated: the compiler only parses, with the options of BUILD/compile_commands.json. Prints what it says of
files that fail and exits 1 if there is one, or if there was nothing to check.
"""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def parse_only(command: list[str]) -> list[str]:
    """The command without its launcher, its output and its dependency file."""
    words = iter(command[1:] if Path(command[0]).name == "ccache" else command)
    kept = []
    for word in words:
        if word in {"-o", "-MT", "-MF"}:
            next(words)
        elif word not in {"-c", "-MD"}:
            kept.append(word)
    return [*kept, "-fsyntax-only"]


def check(entry: dict[str, str]) -> str | None:
    """The compiler's errors for a file that does not compile alone."""
    done = subprocess.run(
        parse_only(shlex.split(entry["command"])), cwd=entry["directory"], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else done.stderr


def main(arguments: list[str]) -> int:
    build = Path(arguments[0]).resolve()
    n_jobs = int(arguments[1]) if len(arguments) > 1 else os.cpu_count() or 1
    entries = json.loads((build / "compile_commands.json").read_text())
    united = [entry["file"] for entry in entries if Path(entry["file"]).name.startswith("unity_")]
    if united:
        print(f"{build} compiles several sources as one: cmake -DANELLO_UNITY=OFF")
        return 1
    ours = [entry for entry in entries if Path(entry["file"]).is_relative_to(ROOT)]
    ours = [entry for entry in ours if not {"build", ".venv"} & set(Path(entry["file"]).relative_to(ROOT).parts)]
    with ThreadPoolExecutor(n_jobs) as pool:
        failures = [said for said in pool.map(check, ours) if said is not None]
    print("\n".join(failures) or f"{len(ours)} source files stand alone")
    return 1 if failures or not ours else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
