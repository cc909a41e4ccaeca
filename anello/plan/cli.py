# SPDX-License-Identifier: Apache-2.0
"""The options of `anello plan`; explained in docs/reference/plan.md."""

from pathlib import Path
from typing import Annotated

import typer


def plan(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG]", help="An exchange's configuration; none: all defaults.")
    ] = None,
    *,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Any configuration key. Repeatable.")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Nodes, each of which reads out and builds.")] = 500,
    demand_tbps: Annotated[
        float | None, typer.Option(metavar="TBPS", help="Payload that all nodes together must build; none: full load.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="push, pull or shift; default: exchange.protocol.")] = None,
    steps_ahead: Annotated[
        int | None, typer.Option(help="shift: 0 is out of step; default: exchange.steps_ahead.")
    ] = None,
    link_gbps: Annotated[float, typer.Option(help="Each node's card, per direction; 0: one machine.")] = 100.0,
    card_sum_gbps: Annotated[float, typer.Option(help="A card's both directions together; 0: twice the link.")] = 0.0,
    uplink_gbps: Annotated[float | None, typer.Option(help="Cable between switches; default: link-gbps.")] = None,
    radix: Annotated[int, typer.Option(help="Ports of a leaf switch.")] = 40,
    oversubscription: Annotated[float, typer.Option(help="Ports to nodes per port to spines, at a leaf.")] = 1.0,
    routing: Annotated[str, typer.Option(help="destination, hashed or spread.")] = "destination",
    failed_links: Annotated[int, typer.Option(help="Number of cut cables between switches.")] = 0,
    port_kb: Annotated[float, typer.Option(help="KiB that a switch holds of the packets of a port.")] = 128.0,
    latency_us: Annotated[float, typer.Option(help="From a node to one at another leaf, one way.")] = 1.2,
    jitter_us: Annotated[float, typer.Option(help="A message starts late by less than this.")] = 1.0,
    in_flight: Annotated[int, typer.Option(help="Messages under way from a node to another.")] = 64,
    buffers: Annotated[int | None, typer.Option(help="Readout unit's buffers, messages; default: 3 per node.")] = None,
    cores: Annotated[int, typer.Option(help="Cores shared by all nodes; 0: one machine per node.")] = 0,
    packet_bytes: Annotated[int, typer.Option(help="Payload of a network packet.")] = 4096,
    packet_overhead: Annotated[int, typer.Option(help="Header bytes per packet; 82: RoCEv2 with Ethernet's gap.")] = 82,
    calibrate: Annotated[
        list[Path] | None, typer.Option(metavar="summary.json", help="From anello exchange --local. Repeatable.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Multi-event packets per builder.")] = 4,
    cell_kb: Annotated[float, typer.Option(help="KiB of a message that switches handle at a time.")] = 16.0,
    curve: Annotated[bool, typer.Option(help="Also 2 to 512 nodes, all protocols.")] = True,
    jobs: Annotated[int, typer.Option(help="Parallel simulations; 0: one per core.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of jitter, cut cables and hashed routes.")] = 1,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory for plan.json and plan.html.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is in that directory.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print plan.json, and all that is for people to standard error.")
    ] = False,
) -> None:
    """What an exchange on a large farm can carry, and the buffers it needs: its own code in virtual time."""
    from anello.plan import command
    from anello.system import output

    options = command.Options(
        n_nodes=nodes,
        demand_tbps=demand_tbps,
        protocol=protocol,
        steps_ahead=steps_ahead,
        link_gbps=link_gbps,
        card_sum_gbps=card_sum_gbps,
        uplink_gbps=uplink_gbps,
        radix=radix,
        oversubscription=oversubscription,
        routing=routing,
        n_failed_links=failed_links,
        port_kb=port_kb,
        latency_us=latency_us,
        jitter_us=jitter_us,
        max_in_flight=in_flight,
        n_buffers=buffers,
        n_cores=cores,
        packet_bytes=packet_bytes,
        packet_overhead_bytes=packet_overhead,
        calibrate=tuple(calibrate or ()),
        rounds=rounds,
        cell_kb=cell_kb,
        curve=curve,
        n_jobs=jobs,
        seed=seed,
    )
    console = output.console(stderr=as_json)
    code = command.run(config_file, settings or [], options, out, console, overwrite=overwrite, as_json=as_json)
    raise typer.Exit(code)
