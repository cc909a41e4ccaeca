#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a C++ program around a Verilated top of rtl/links, once per state of its sources.

    rtl/model/build_link.py TOP PROGRAM.cpp [NAME=VALUE]...

prints the program's path. NAME is a parameter of TOP, and LINK_NAME a macro in the program. Needs the verilator package
(or Verilator on the path), g++ and make."""

import hashlib
import pathlib
import subprocess
import sys

from verilated import verilator_environment

RTL = pathlib.Path(__file__).resolve().parent.parent


def sources(top: str) -> list[pathlib.Path]:
    return [
        *sorted((RTL / "common").glob("axis_*.sv")),
        *sorted((RTL / "links").glob("*.sv")),
        RTL / "tests" / f"{top}.sv",
    ]


def build(top: str, program: pathlib.Path, parameters: dict[str, int]) -> pathlib.Path:
    """Returns the program's path. Raises CalledProcessError; the compiler's own words are on stderr."""
    command, environment = verilator_environment()
    state = hashlib.sha256(repr(sorted(parameters.items())).encode())
    for path in [*sources(top), program, *sorted(program.parent.glob("links_*.hpp")), pathlib.Path(__file__)]:
        state.update(path.read_bytes())
    folder = RTL.parent / "build" / "rtl" / f"{program.stem}-{state.hexdigest()[:16]}"
    binary = folder / f"V{top}"
    if binary.exists():
        return binary
    folder.mkdir(parents=True, exist_ok=True)
    macros = " ".join(f"-DLINK_{name}={value}" for name, value in parameters.items())
    subprocess.run(
        [
            command,
            "--cc",
            "--exe",
            "--build",
            "-j",
            "1",
            "-O3",
            "--x-assign",
            "fast",
            "--x-initial",
            "unique",
            "-Wno-fatal",
        ]
        + ["-Wno-lint", "--top-module", top, "--Mdir", str(folder)]
        + [f"-G{name}={value}" for name, value in parameters.items()]
        + ["-CFLAGS", f"-O1 -std=c++20 {macros}", *map(str, sources(top)), str(program)],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    return binary


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    given = dict(pair.split("=") for pair in sys.argv[3:])
    print(build(sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), {name: int(value) for name, value in given.items()}))
