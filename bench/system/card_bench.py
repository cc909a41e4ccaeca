# SPDX-License-Identifier: Apache-2.0
"""CPU time per datagram of the card, whose datagrams a program takes in persistent buffers, and of recvmmsg and discard
on the same load: `./dev bench card [core=C] [rounds=R] [bytes=1024,8192] [mode=plain,gso,gro]`. Datagrams per second
and core are 1e9 / cpu_ns. camera_receive.cpp says how."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "build/release/bench/camera_receive"

if __name__ == "__main__":
    sys.exit(subprocess.run([PROGRAM, "only=card", *sys.argv[1:]], check=False).returncode)
