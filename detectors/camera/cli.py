# SPDX-License-Identifier: Apache-2.0
"""Commands of the camera."""

from pathlib import Path
from typing import Annotated

import typer


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE.fits.fz", help="NectarCAM event file.")],
    output: Annotated[Path, typer.Argument(metavar="OUT.pcap", help="Capture file to write.")],
    *,
    first_port: Annotated[int, typer.Option(help="UDP port of board 0.")] = 6000,
    ports: Annotated[int, typer.Option(help="Number of ports shared by the boards; 0: one port per board.")] = 0,
) -> None:
    """Converts a camera event file into its boards' datagrams (a pcap file for receive.backend = "pcap")."""
    from . import files

    events = files.read_nectarcam(file)
    n_frames = files.write_pcap(output, events, first_port, ports)
    _, n_boards, n_gains, n_pixels, n_samples = events.waveform.shape
    print(
        f"{output}: {events.n_events} events of {n_boards} boards, {n_pixels} pixels, {n_gains} gains, {n_samples} "
        f"samples; {n_frames} datagrams from port {first_port} on"
    )
