# SPDX-License-Identifier: Apache-2.0
"""Leading a run: the node in this process, the front ends in another, started together and stopped in order."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from anello import display
from anello.chain_of import chain_of
from anello.chains import Chain, ChainNode, Keeper, RunEnd
from anello.config_base import FrontEndsConfig
from anello.cpu import CpuTime
from anello.interruption import Interruption, interruptible
from anello.link import interface_to
from anello.placement import Placement, placed
from anello.record import Record
from anello.rings import Rings
from anello.silence import SilenceWatch
from anello.source_process import SourceProcess

DRAIN_TIMEOUT_S = 10.0
LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True)
class Plan:
    """What a run needs besides its configuration."""

    config: FrontEndsConfig
    source_arguments: Sequence[str]  # configuration file, --set and --events as the user gave them
    directory: Path
    reference: Rings | None = None


def make_node(config: FrontEndsConfig, directory: Path) -> ChainNode:
    """A node of the configuration's chain that has bound its ports."""
    return chain_of(config).make_node(directory)


def run(plan: Plan, console: Console) -> Record:
    """Node and front ends on this machine. Raises ConfigError, OSError, SourceFailedError."""
    with placed(plan.config) as (config, placement):
        if placement.words:
            console.print(placement.words, highlight=False)
        return _run(replace(plan, config=config), console)


def _run(plan: Plan, console: Console) -> Record:
    chain, config = chain_of(plan.config), plan.config
    node = chain.make_node(plan.directory)
    truth_path = plan.directory / "truth.npz"
    leading = [*chain.source_settings(node.ports()), f"threads.priority={config.threads.priority}"]
    arguments = [*plan.source_arguments, *(part for setting in leading for part in ("--set", setting))]
    with interruptible() as interrupted, SourceProcess([*arguments, "--truth", str(truth_path)]) as source:
        node.start()
        try:
            source.wait_ready()
            began = CpuTime.now()
            source.start()
            kept = _watch(chain, node, source, interrupted, console)
            cpu = CpuTime.now().since(began)
            source.stop()
            if not (interrupted.is_set() or source.ended_badly):  # else nobody tells the node that this is the end
                _wait_until(node.finished, DRAIN_TIMEOUT_S)
        finally:
            node.stop()
        kept.look(node)
        record = chain.record(
            RunEnd(
                node, kept, plan.directory, wall_s=time.monotonic() - began.wall_s, source=source.counters,
                interface=interface_to(config.front_ends.host), one_host=config.front_ends.host.startswith(LOOPBACK),
                interrupted=interrupted.is_set(), cpu=cpu.shares(source.cpu_s), truth=_truth(source.truth_path),
                reference=plan.reference, made=source.sequences, ended_badly=source.ended_badly,
            )
        )  # fmt: skip
    truth_path.unlink(missing_ok=True)
    return record


def run_node(config: FrontEndsConfig, directory: Path, console: Console) -> Record:
    """The node alone: front ends elsewhere send to its ports."""
    with placed(config) as (with_cores, placement):
        return _run_node(with_cores, directory, console, placement)


def _run_node(config: FrontEndsConfig, directory: Path, console: Console, placement: Placement) -> Record:
    chain = chain_of(config)
    node = chain.make_node(directory)
    console.print(f"listening at {config.receive.host}, ports {', '.join(map(str, node.ports()))}", highlight=False)
    if placement.words:
        console.print(placement.words, highlight=False)
    with interruptible() as interrupted:
        began = time.monotonic()
        node.start()
        try:
            kept = _watch(chain, node, None, interrupted, console)
        finally:
            node.stop()
        kept.look(node)
        return chain.record(
            RunEnd(
                node, kept, directory, wall_s=time.monotonic() - began, source=None, interface="", one_host=False,
                interrupted=interrupted.is_set(), cpu=None, truth=None, reference=None,
            )
        )  # fmt: skip


def _watch(
    chain: Chain, node: ChainNode, source: SourceProcess | None, interrupted: Interruption, console: Console
) -> Keeper:
    """Shows progress until the run has ended, the front ends are done, or the user has had enough."""
    kept, meter, settings = chain.keeper(), chain.meter(), chain.config.run
    silence, n_told = SilenceWatch(chain.longest_pause_s()), 0
    with display.make(settings.display, console) as shown:
        while not interrupted.wait(settings.refresh_ms * 1e-3):
            if source:
                source.poll()
            kept.look(node)
            kept.notices += silence.look(node.counters())
            for line in kept.notices[n_told:]:
                shown.tell(line)
            n_told = len(kept.notices)
            shown.show(meter.look(node))
            if node.finished() or (source and source.done):
                break
    return kept


def _truth(path: Path | None) -> dict[str, Any] | None:
    if path is None or not path.exists():
        return None
    with np.load(path) as arrays:
        return dict(arrays)


def _wait_until(condition: Any, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
