# SPDX-License-Identifier: Apache-2.0
"""Receives whatever is sent to a UDP port, until it has been silent for 2 s: python examples/card/receive.py [PORT]"""

import contextlib
import sys

from anello.card import Card

with Card("0.0.0.0") as card:
    stream = card.register(int(sys.argv[1]) if len(sys.argv) > 1 else 0, n_buffers=64)
    print(f"listening on port {stream.port}", flush=True)
    n_datagrams, n_bytes, timeout = 0, 0, 60.0
    with contextlib.suppress(TimeoutError):
        while (buffer := stream.wait(timeout)) is not None:
            with buffer:
                n_datagrams += len(buffer)
                n_bytes += int(buffer.datagrams["length_bytes"].sum())
            timeout = 2.0
    lost = stream.counters()
    print(f"{n_datagrams} datagrams, {n_bytes} bytes; lost: {lost['kernel_dropped']} in the kernel, "
          f"{lost['blocks_dropped']} for want of a buffer")  # fmt: skip
