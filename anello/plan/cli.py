# SPDX-License-Identifier: Apache-2.0
"""The options of `anello plan`. What they mean in full: docs/reference/plan.md."""

from pathlib import Path
from typing import Annotated

import typer


def plan(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="An exchange's configuration; none: all defaults.")
    ] = None,
    *,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any key of it. Repeatable.")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Nodes, each of which reads out and builds.")] = 500,
    demand_tbps: Annotated[
        float | None, typer.Option(metavar="TBPS", help="Payload that all nodes must build; none: as much as goes.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="push, pull or shift; else exchange.protocol.")] = None,
    link_gbps: Annotated[float, typer.Option(help="Of each node's card, each way; 0: one machine.")] = 100.0,
    uplink_gbps: Annotated[float | None, typer.Option(help="Of a cable between switches; else as link-gbps.")] = None,
    radix: Annotated[int, typer.Option(help="Ports of a leaf switch.")] = 40,
    oversubscription: Annotated[float, typer.Option(help="Of a leaf: ports to nodes by ports to spines.")] = 1.0,
    routing: Annotated[str, typer.Option(help="destination, hashed or spread.")] = "destination",
    failed_links: Annotated[int, typer.Option(help="Cables between switches that are cut.")] = 0,
    latency_us: Annotated[float, typer.Option(help="Of the network, one way.")] = 1.0,
    jitter_us: Annotated[float, typer.Option(help="Width of what delays a message's start.")] = 1.0,
    sends: Annotated[int, typer.Option(help="Messages that a readout unit has under way at once.")] = 8,
    buffers: Annotated[int | None, typer.Option(help="Of a readout unit, in messages; else 3 for each node.")] = None,
    threads: Annotated[int, typer.Option(help="Of a node: 1 sends and receives, 2 one each.")] = 1,
    cores: Annotated[int, typer.Option(help="That all nodes share; 0: each has a machine.")] = 0,
    memory_gbps: Annotated[float, typer.Option(help="Of a message that stays on its machine.")] = 106.0,
    packet_bytes: Annotated[int, typer.Option(help="Payload of a packet on the wire.")] = 4096,
    packet_overhead: Annotated[int, typer.Option(help="Bytes around it; 82: RoCEv2 with Ethernet's gap.")] = 82,
    calibrate: Annotated[
        list[Path] | None, typer.Option(metavar="summary.json", help="Of anello exchange --local. Repeatable.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Multi-event packets of each builder.")] = 3,
    cells: Annotated[int, typer.Option(help="Parts of a message that switches handle one by one.")] = 1,
    curve: Annotated[bool, typer.Option(help="Also 2 to 512 nodes, all three protocols.")] = True,
    jobs: Annotated[int, typer.Option(help="Simulations at once; 0: one for each core.")] = 0,
    seed: Annotated[int, typer.Option(help="Of jitter, cut cables and hashed routes.")] = 1,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where plan.json and plan.html go.")] = None,
) -> None:
    """What an exchange on a large farm would carry, and with what buffers: a simulation."""
    from rich.console import Console

    from anello.plan import command

    options = command.Options(
        n_nodes=nodes, demand_tbps=demand_tbps, protocol=protocol, link_gbps=link_gbps, uplink_gbps=uplink_gbps,
        radix=radix, oversubscription=oversubscription, routing=routing, n_failed_links=failed_links,
        latency_us=latency_us, jitter_us=jitter_us, n_sends=sends, n_buffers=buffers, n_threads=threads,
        n_cores=cores, memory_gbps=memory_gbps, packet_bytes=packet_bytes, packet_overhead_bytes=packet_overhead,
        calibrate=tuple(calibrate or ()), rounds=rounds, n_cells=cells, curve=curve, n_jobs=jobs, seed=seed,
    )  # fmt: skip
    raise typer.Exit(command.run(config_file, settings or [], options, out, Console()))
