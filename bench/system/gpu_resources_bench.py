# SPDX-License-Identifier: Apache-2.0
"""What the device code of the ring finders takes of a GPU: registers, spills and shared memory as ptxas tells them, and
how many warps a multiprocessor holds by that. Needs nvcc, but no device.

    python bench/record.py gpu_resources [--architectures 80,90,100] [--build build/release]

Compiled as that build compiles it. Wanted: 16 warps in every tier, and no spills but Almagest's.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = "detectors/rich/rings/kernels_cuda.cu"
WANTED_WARPS = 16
WARP, REGISTERS, PARTITIONS, MOST_WARPS, MOST_BLOCKS = 32, 65536, 4, 64, 32  # of a multiprocessor, in all three
SHARED_KB = {"80": 164, "90": 228, "100": 228}  # the same, of the CUDA C++ Programming Guide, compute capabilities
SHARED_OF_BLOCK, SHARED_STEP, REGISTER_STEP = 1024, 128, 8  # taken by the system; granularity, bytes and of a thread
THREADS = {"first_tier": 64, "second_tier": 32}  # of a block: first_tier_threads, team_threads * teams_per_block
# ring_finder.hpp has them in this order
ALGORITHMS = ("crawford", "taubin", "histogram8x8", "histogram", "almagest", "single", "multiring")


@dataclass(frozen=True)
class Kernel:
    """registers: of a thread. stack, spilled, shared: bytes, of a thread, of a thread, of a block."""

    name: str
    architecture: str
    registers: int
    stack: int
    spilled: int
    shared: int

    @property
    def threads(self) -> int:
        return THREADS[self.name.partition(" ")[0]]


@dataclass(frozen=True)
class Occupancy:
    warps: int  # that a multiprocessor holds at once
    limit: str  # by what


def main() -> None:
    parser = argparse.ArgumentParser(description="What device code takes of a GPU.")
    parser.add_argument("--architectures", default=",".join(SHARED_KB), help="of " + ", ".join(SHARED_KB))
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--quick", action="store_true", help="the first architecture alone")
    options = parser.parse_args()
    architectures = options.architectures.split(",")
    if unknown := [one for one in architectures if one not in SHARED_KB]:
        sys.exit(f"--architectures: {', '.join(unknown)} is not known; choose of {', '.join(SHARED_KB)}")
    command = nvcc_command(options.build)
    for architecture in architectures[:1] if options.quick else architectures:
        for kernel in kernels_of(ptxas_output(command, architecture)):
            tell(kernel, occupancy(kernel))


def tell(kernel: Kernel, holds: Occupancy) -> None:
    missed = [f"{WANTED_WARPS} warps wanted"] if holds.warps < WANTED_WARPS else []
    missed += ["no spills wanted"] if kernel.spilled and not kernel.name.endswith("almagest") else []
    print(f"sm_{kernel.architecture} {kernel.name}: {kernel.registers} registers, {kernel.spilled} bytes spilled, "
          f"{kernel.shared} bytes shared: {holds.warps} warps, limited by {holds.limit}"
          + "".join(f"; {one}: missed" for one in missed))  # fmt: skip
    print(json.dumps({
        "case": f"sm_{kernel.architecture} {kernel.name}", "registers": kernel.registers, "stack": kernel.stack,
        "spilled": kernel.spilled, "shared": kernel.shared, "warps": holds.warps, "limit": holds.limit,
    }), flush=True)  # fmt: skip


def occupancy(kernel: Kernel) -> Occupancy:
    """Registers are dealt out by quarters of the multiprocessor, to whole warps."""
    warps_of_block = -(-kernel.threads // WARP)
    registers_of_warp = _up(kernel.registers, REGISTER_STEP) * WARP
    by_registers = REGISTERS // PARTITIONS // registers_of_warp * PARTITIONS // warps_of_block
    shared_of_block = _up(kernel.shared, SHARED_STEP) + SHARED_OF_BLOCK
    blocks = {
        "its warps": MOST_WARPS // warps_of_block,
        "its blocks": MOST_BLOCKS,
        "registers": by_registers,
        "shared memory": SHARED_KB[kernel.architecture] * 1024 // shared_of_block,
    }
    limit = min(blocks, key=lambda one: blocks[one])
    return Occupancy(blocks[limit] * warps_of_block, limit)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def kernels_of(output: str) -> Iterator[Kernel]:
    """output: of ptxas -v. Raises ValueError where it is not as expected."""
    for part in output.split("Compiling entry function '")[1:]:
        head = re.match(r"(\w+)' for 'sm_(\d+)'", part)
        spills = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", part)
        used = re.search(r"Used (\d+) registers", part)
        if head is None or spills is None or used is None:
            raise ValueError(f"ptxas says something else than expected: {part[:200]}")
        shared = re.search(r"(\d+) bytes smem", part)
        yield Kernel(
            _name(head[1]), head[2], int(used[1]), int(spills[1]), int(spills[2]), int(shared[1]) if shared else 0
        )


def _name(mangled: str) -> str:
    """Of the first tier, its algorithm, too, the template's argument."""
    if "second_tier" in mangled:
        return "second_tier multiring"
    algorithm = re.search(r"first_tierILNS\d_9AlgorithmE(\d)E", mangled)
    if algorithm is None:
        raise ValueError(f"{mangled} is no kernel known here")
    return f"first_tier {ALGORITHMS[int(algorithm[1])]}"


def nvcc_command(build: Path) -> list[str]:
    """The build's command but for files and architectures; ends the program where the build has no device code."""
    target = f"{SOURCE}.o"
    done = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", "-s", target], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{build} does not compile {SOURCE}: it needs nvcc, and to be configured with tests "
                 "(docs/how-to/gpu.md); name another with --build")  # fmt: skip
    words = shlex.split(done.stdout.partition("&&")[2].partition("&&")[0])
    words = words[next(k for k, word in enumerate(words) if Path(word).name.startswith("nvcc")) :]
    for option in ("-gencode", "-MF", "-c", "-o"):
        while option in words:
            at = words.index(option)
            del words[at : at + 2]
    return [word for word in words if word != "-MD"]


def ptxas_output(command: Sequence[str], architecture: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, f"-gencode=arch=compute_{architecture},code=sm_{architecture}", "-Xptxas=-v", "-cubin",
             str(ROOT / SOURCE), "-o", f"{folder}/kernels.cubin"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"nvcc cannot compile {SOURCE} for sm_{architecture}: {done.stderr.strip()[-500:]}")
    return done.stderr + done.stdout


if __name__ == "__main__":
    main()
