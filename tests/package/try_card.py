# SPDX-License-Identifier: Apache-2.0
"""Sends a stream to the example of the card, try_card.py PROGRAM, which must print the datagrams that came."""

import re
import socket
import subprocess
import sys

N_DATAGRAMS, LENGTH_BYTES = 1000, 100  # fits into a small socket buffer, too


def main() -> None:
    with subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        port = int(program.stdout.readline().split()[-1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(N_DATAGRAMS):
                sender.sendto(bytes(LENGTH_BYTES), ("127.0.0.1", port))
        said, _ = program.communicate(timeout=60)
    print(said, end="")
    if [int(number) for number in re.findall(r"\d+", said)] != [N_DATAGRAMS, N_DATAGRAMS * LENGTH_BYTES]:
        sys.exit(f"{N_DATAGRAMS} datagrams of {LENGTH_BYTES} bytes were sent")


if __name__ == "__main__":
    main()
