# SPDX-License-Identifier: Apache-2.0
"""Receives bytes in asyncio, alongside other tasks: python examples/stream/receive_asyncio.py @example"""

import asyncio
import sys

from anello import stream


async def count_bytes(incoming: stream.Stream) -> int:
    """recv(timeout=0) until nothing is there, then the descriptor tells when to look again."""
    readable = asyncio.Event()
    asyncio.get_running_loop().add_reader(incoming, readable.set)
    n_bytes = 0
    while True:
        readable.clear()
        try:
            while data := incoming.recv(1 << 16, timeout=0):
                n_bytes += len(data)
                await asyncio.sleep(0)  # others' turn
            return n_bytes
        except BlockingIOError:
            await readable.wait()


with stream.listen(sys.argv[1]) as listener, listener.accept(timeout=60) as first:
    print(f"{asyncio.run(count_bytes(first))} bytes")
