# SPDX-License-Identifier: Apache-2.0
"""Leading a run: the node in this process, the front ends in another, started together and stopped in order."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from anello import decisions, display, python_trigger
from anello.config import Config
from anello.cpu import CpuTime
from anello.engine import _engine
from anello.errors import engine_errors
from anello.keeper import Keeper
from anello.link import interface_to
from anello.record import RunRecord
from anello.rings import Rings
from anello.source_process import SourceProcess

DRAIN_TIMEOUT_S = 10.0
LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True)
class Plan:
    """What a run needs beside its configuration."""

    config: Config
    source_arguments: Sequence[str]  # configuration file, --set and --events as the user gave them
    directory: Path
    reference: Rings | None = None


def make_node(config: Config, directory: Path) -> "_engine.Node":
    """A node that has bound its ports. The decisions' file lies in the run's directory."""
    values: dict[str, Any] = config.flat() | {"counter_page": f"/anello.node.{os.getpid()}"}
    if config.trigger.python:
        values["trigger.python_function"] = python_trigger.load(config.trigger.python)
    if config.store.decisions:
        values["store.decisions"] = str(directory / config.store.decisions)
    with engine_errors():
        return _engine.Node(values)


def run(plan: Plan, console: Console) -> RunRecord:
    """Node and front ends on this machine. Raises ConfigError, OSError, SourceFailedError."""
    node = make_node(plan.config, plan.directory)
    truth_path = plan.directory / "truth.npz"
    ports = list(node.ports())
    leading = [f"source.ports={ports}", f"source.n_bursts={plan.config.n_bursts}"]
    arguments = [*plan.source_arguments, *(part for setting in leading for part in ("--set", setting))]
    with interruptible() as interrupted, SourceProcess([*arguments, "--truth", str(truth_path)]) as source:
        node.start()
        try:
            source.wait_ready()
            began = CpuTime.now()
            source.start()
            kept = _watch(plan.config, node, source, interrupted, console)
            cpu = CpuTime.now().since(began)
            source.stop()
            _wait_until(node.finished, DRAIN_TIMEOUT_S)
        finally:
            node.stop()
        truth = _truth(source.truth_path)
        record = _record(
            plan, node, kept, wall_s=time.monotonic() - began.wall_s, source=source.counters, truth=truth,
            cpu=cpu.shares(source.cpu_s), interrupted=interrupted.is_set(),
        )  # fmt: skip
    truth_path.unlink(missing_ok=True)
    return record


def run_node(config: Config, directory: Path, console: Console) -> RunRecord:
    """The node alone: front ends elsewhere send to its ports."""
    node = make_node(config, directory)
    console.print(f"listening at {config.receive.host}, ports {', '.join(map(str, node.ports()))}", highlight=False)
    with interruptible() as interrupted:
        began = time.monotonic()
        node.start()
        try:
            kept = _watch(config, node, None, interrupted, console)
        finally:
            node.stop()
        plan = Plan(config, (), directory)
        return _record(
            plan, node, kept, wall_s=time.monotonic() - began, source=None, truth=None, interrupted=interrupted.is_set()
        )


def _watch(
    config: Config, node: "_engine.Node", source: SourceProcess | None, interrupted: threading.Event, console: Console
) -> Keeper:
    """Shows progress until all bursts have ended, the front ends are done, or the user has had enough."""
    kept = Keeper(config.run.n_report_events)
    meter = display.ProgressMeter(config.n_bursts)
    with display.make(config.run.display, console) as shown:
        while not interrupted.wait(config.run.refresh_ms * 1e-3):
            if source:
                source.poll()
            kept.look(node)
            stage = node.latency().get("sent_to_decided", {})
            shown.show(meter.look(node.counters(), stage, node.states()))
            if node.finished() or (source and source.done):
                break
    return kept


def _record(
    plan: Plan, node: "_engine.Node", kept: Keeper, *, wall_s: float, source: Any, truth: Any, interrupted: bool,
    cpu: dict[str, float] | None = None,
) -> RunRecord:  # fmt: skip
    config = plan.config
    kept.look(node)
    return RunRecord(
        config=config,
        node=node.counters(),
        source=source,
        latency=node.latency(),
        wall_s=wall_s,
        execution=node.execution(),
        states=node.states(),
        notices=tuple(kept.notices),
        events=kept.events(),
        decisions=_decisions(config, plan.directory),
        truth=truth,
        reference=plan.reference,
        positions=_engine.rich_positions(config.trigger.fit_frame),
        interrupted=interrupted,
        one_host=source is not None and config.source.host.startswith(LOOPBACK),
        interface=interface_to(config.source.host) if source is not None else "",
        cpu=cpu,
    )


def _decisions(config: Config, directory: Path) -> dict[str, Any] | None:
    path = directory / config.store.decisions
    return decisions.read(path) if config.store.decisions and path.exists() else None


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


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM set the event, so that the run ends in order; a second Ctrl-C ends it at once."""
    event = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in before:
        signal.signal(number, on_signal)
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
