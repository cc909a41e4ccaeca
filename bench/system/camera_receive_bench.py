# SPDX-License-Identifier: Apache-2.0
"""CPU time per datagram of building camera events, compared with recvmmsg and discard on the same load: `./dev bench
camera_receive [core=C] [rounds=R] [bytes=1024,8192] [mode=plain,gso,gro]`. camera_receive.cpp says how."""

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "build/release/bench/camera_receive"

if __name__ == "__main__":
    sys.exit(subprocess.run([PROGRAM, *sys.argv[1:]], check=False).returncode)
