#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds a C++ program around a Verilated module of rtl/, once per state of its sources.

    rtl/model/build_model.py [--top data_path|nanet_io] [--boards N] [--item-bits N] [--hits-bits N] PROGRAM.cpp

prints the program's path. Needs the verilator package, g++, make and Anello's static libraries (ANELLO_BUILD, by
default build/release of this checkout).

    rtl/model/build_model.py --library FILE.so [--boards N]

makes the card a shared library that the engine loads (receive/nanet/nanet_abi.h); it needs nothing of Anello's."""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys

from verilated import verilator_environment

RTL = pathlib.Path(__file__).resolve().parent.parent
ROOT = RTL.parent
BUILD = ROOT / "build" / "rtl"
# All that a unit of several files may need, though the programs need little of it.
LIBRARIES = ["detectors/rich/libanello_rich.a"] + [
    f"engine/{name}/libanello_{name}.a"
    for name in ("simulate", "pipeline", "exchange", "fabric", "events", "source", "receive", "publish", "stream",
                 "store", "wire", "memory", "core")
]  # fmt: skip
SYSTEM = ["fmt", "hwloc", "pcap", "uring", "zmq", "sodium", "ucp", "ucs", "hdf5_serial", "zstd", "pthread", "rt", "dl"]
VERILATED = "-fPIC"  # of all that Verilator writes: the same objects are of programs and of the shared library


def sources(top: str = "data_path") -> list[pathlib.Path]:
    """All sources of the data path, or of the card; packages first."""
    if top == "data_path":
        return [path for folder in ("data", "common") for path in sorted((RTL / folder).glob("*.sv"))]
    folders = ("registers", "common", "receive", "data", "memory")
    found = [path for folder in folders for path in sorted((RTL / folder).glob("*.sv"))] + [RTL / "nanet_io.sv"]
    return sorted(found, key=lambda path: not path.stem.endswith("_pkg"))


def anello_build() -> pathlib.Path:
    return pathlib.Path(os.environ.get("ANELLO_BUILD", ROOT / "build" / "release"))


def cuda_runtime() -> str:
    """The CUDA runtime that those libraries were built with, or nothing."""
    for line in (anello_build() / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("ANELLO_CUDART:") and not line.endswith("NOTFOUND"):
            return line.split("=", 1)[1]
    return ""


def digest(*parts: object) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(part.read_bytes() if isinstance(part, pathlib.Path) else repr(part).encode())
    return state.hexdigest()[:16]


def build_library(parameters: dict[str, int], top: str) -> pathlib.Path:
    """Builds the Verilated module and Verilator's own objects in one folder, and returns the folder."""
    command, environment = verilator_environment()
    folder = BUILD / f"{top}-{digest(sorted(parameters.items()), VERILATED, *sources(top))}"
    if (folder / f"V{top}__ALL.a").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [
            command,
            "--cc",
            "-O3",
            "--x-assign",
            "fast",
            "--top-module",
            top,
            "-Wno-fatal",
            "-Wno-WIDTH",
            "-CFLAGS",
            VERILATED,
        ]
        + [
            "--Mdir",
            str(folder),
            *(f"-G{name}={value}" for name, value in parameters.items()),
            *map(str, sources(top)),
        ],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    make = [
        "make",
        "-C",
        str(folder),
        "-f",
        f"V{top}.mk",
        "OPT_FAST=-O2",
        f"V{top}__ALL.a",
        "verilated.o",
        "verilated_threads.o",
    ]
    subprocess.run(make, check=True, env=environment, stdout=subprocess.DEVNULL)
    return folder


def verilator_includes(folder: pathlib.Path) -> list[str]:
    include = pathlib.Path(verilator_environment()[1].get("VERILATOR_ROOT", "/usr/share/verilator")) / "include"
    return [f"-I{folder}", f"-I{include}", f"-I{include}/vltstd"]


def build_shared(path: pathlib.Path, boards: int) -> None:
    """Builds the card as a shared library. An existing library stays until the new one is complete: a run may use it.

    Raises CalledProcessError with the compiler's own words on stderr."""
    folder = build_library({"BOARDS": boards}, "nanet_io")
    made_of = folder.name.rpartition("-")[2]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    flags = [
        "-O2",
        "-std=c++20",
        VERILATED,
        "-march=x86-64-v2",
        "-fvisibility-inlines-hidden",
        f'-DNANET_SOURCES="{made_of}"',
    ]
    flags += [*verilator_includes(folder), f"-I{ROOT}/engine", "-shared", "-Wl,-z,relro,-z,now", "-Wl,-Bsymbolic"]
    objects = [folder / "Vnanet_io__ALL.a", folder / "verilated.o", folder / "verilated_threads.o"]
    program = RTL / "model/nanet_library.cpp"
    subprocess.run(["g++", *flags, str(program), *map(str, objects), "-lpthread", "-o", str(new)], check=True)
    new.replace(path)


def build(program: pathlib.Path, parameters: dict[str, int], top: str = "data_path") -> pathlib.Path:
    """Returns the program's path. Raises CalledProcessError with the compiler's own words on stderr."""
    folder = build_library(parameters, top)
    headers = [*sorted((RTL / "model").glob("*.hpp")), ROOT / "engine/receive/nanet/nanet_io.hpp"]
    flags = ["-O1", "-std=c++20", "-march=x86-64-v2", f"-DDATA_BOARDS={parameters['BOARDS']}"]
    flags += [*verilator_includes(folder), f"-I{ROOT}/engine", f"-I{ROOT}/detectors"]
    # The program sees the module's ports only: most changes inside the module leave it alone.
    ports = (folder / f"V{top}.h").read_text().split("// CELLS")[0]
    compiled = BUILD / f"{program.stem}-{digest(flags[3:4], ports, program, *headers)}.o"
    if not compiled.exists():
        subprocess.run(["g++", *flags, "-c", str(program), "-o", str(compiled)], check=True)
    binary = folder / program.stem
    libraries = [anello_build() / name for name in LIBRARIES]
    objects = [compiled, folder / f"V{top}__ALL.a", folder / "verilated.o", folder / "verilated_threads.o"]
    if not binary.exists() or any(path.stat().st_mtime > binary.stat().st_mtime for path in objects + libraries):
        # Functions of the standard library come from there, never from some member of Anello's libraries that holds a
        # copy, too: it would drag in all that it needs, up to HDF5.
        before, after = map(str, [*objects, "-lstdc++"]), map(str, libraries)
        grouped = ["-Wl,--start-group", *after, "-Wl,--end-group"]
        runtime = [cuda_runtime()] if cuda_runtime() else []
        system = [f"-l{name}" for name in SYSTEM]
        subprocess.run(["g++", "-o", str(binary), *before, *grouped, *runtime, *system], check=True)
    return binary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path, nargs="?")
    parser.add_argument("--library", type=pathlib.Path, metavar="FILE.so")
    parser.add_argument("--boards", type=int, default=4)
    parser.add_argument("--item-bits", type=int, default=10)
    parser.add_argument("--hits-bits", type=int, default=11)
    parser.add_argument("--top", choices=("data_path", "nanet_io"), default="data_path")
    given = parser.parse_args()
    if (given.program is None) == (given.library is None):
        parser.error("a program or --library")
    parameters = {"BOARDS": given.boards}
    if given.top == "data_path":
        parameters |= {"ITEM_BITS": given.item_bits, "HITS_BITS": given.hits_bits}
    try:
        if given.library:
            build_shared(given.library.resolve(), given.boards)
            print(given.library.resolve())
            return
        print(build(given.program.resolve(), parameters, given.top))
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)


if __name__ == "__main__":
    main()
