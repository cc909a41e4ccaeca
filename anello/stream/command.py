# SPDX-License-Identifier: Apache-2.0
"""The commands `anello stream ...`."""

from pathlib import Path
from typing import Annotated

import typer

stream_app = typer.Typer(help="Byte streams between processes.", no_args_is_help=True)


@stream_app.callback()
def _stream() -> None:
    """Byte streams between processes."""


@stream_app.command("bench")
def bench(
    *,
    transports: Annotated[str, typer.Option(help="Comma-separated; all: every one the program supports.")] = "all",
    chunks: Annotated[str, typer.Option(help="Bytes per send, comma-separated; k and M are 1024 and 1024².")] = (
        "4k,16k,64k,256k,1M,4M,16M,64M,128M"
    ),
    n_bytes: Annotated[str, typer.Option("--bytes", help="Bytes per transfer.")] = "1024M",
    latency: Annotated[str, typer.Option(help="Bytes per message of the ping-pong; empty: none.")] = (
        "64,256,1k,4k,16k,64k"
    ),
    rounds: Annotated[int, typer.Option(help="Number of interleaved rounds of all cases.")] = 3,
    ring: Annotated[str, typer.Option(help="Size of the ring in bytes.")] = "4M",
    grain: Annotated[str, typer.Option(help="Bytes between two publications.")] = "256k",
    cores: Annotated[str, typer.Option(help="SENDER,RECEIVER to pin to; empty: not pinned.")] = "",
    program: Annotated[Path | None, typer.Option(help="Path of stream_transfer; default: that of build/.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory for stream.jsonl and stream.html.")] = Path(
        "runs"
    ),
) -> None:
    """Compares bandwidth and latency of the ring with memcpy, pipes, sockets and ZeroMQ; verifies every byte once."""
    from anello.stream.bench import Options, find_program, run, size, sizes

    options = Options(
        transports=[] if transports == "all" else transports.split(","),
        chunks=sizes(chunks),
        n_bytes=size(n_bytes),
        latency=sizes(latency),
        rounds=rounds,
        ring=size(ring),
        grain=size(grain),
        cores=cores,
    )
    run(options, find_program(program), out)
