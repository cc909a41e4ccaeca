# SPDX-License-Identifier: Apache-2.0
"""Bandwidth and latency between two processes: `python bench/record.py stream [OPTION...]`; options are those of
`anello stream bench`. Here so that ./dev bench builds the program and records the lines."""

import argparse
import json
import subprocess
from pathlib import Path

from anello.stream import bench

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "build/release/bench/stream_transfer"


def main() -> None:
    parser = argparse.ArgumentParser(description="Streams between two processes.")
    parser.add_argument("--chunks", default="4k,16k,64k,256k,1M,4M,16M,64M,128M")
    parser.add_argument("--bytes", default="1024M")
    parser.add_argument("--latency", default="64,256,1k,4k,16k,64k")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", default="")
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--quick", action="store_true", help="few sizes, 128 MB, one round")
    options = parser.parse_args()
    if options.quick:
        options.chunks, options.bytes, options.latency, options.rounds = "4k,1M", "128M", "64", 1
    if options.program == PROGRAM:
        build = ["cmake", "--build", str(PROGRAM.parents[1]), "--target", PROGRAM.name]
        subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    results = bench.run(
        bench.Options(
            transports=[], chunks=bench.sizes(options.chunks), n_bytes=bench.size(options.bytes),
            latency=bench.sizes(options.latency), rounds=options.rounds, ring=16 << 20, grain=256 << 10,
            cores=options.cores,
        ),
        options.program, ROOT / "build/stream-bench",
    )  # fmt: skip
    for line in bench.summaries(results):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
