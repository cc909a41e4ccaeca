# SPDX-License-Identifier: Apache-2.0
"""Runs the camera's node alone, for a measurement from outside: prints its port, runs until its input ends,
and prints its counters.

    python camera_node.py [KEY=VALUE...]
"""

import json
import os
import sys
from pathlib import Path

from anello.camera.engine import engine
from anello.configuration.load import load

CONFIG = Path(__file__).parents[2] / "detectors/camera/cta-camera.toml"


def main() -> None:
    node = engine().Node(load(CONFIG, sys.argv[1:]).flat() | {"counter_page": f"/anello.node.{os.getpid()}"})
    node.start()
    print(node.ports()[0], flush=True)
    sys.stdin.read()
    counters = node.counters()
    node.stop()
    print(json.dumps(counters), flush=True)


if __name__ == "__main__":
    main()
