# SPDX-License-Identifier: Apache-2.0
"""Runs a chain: the node in this process, the front ends in another, started together and stopped in order."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from anello import registry
from anello.account.history import History
from anello.account.notices import Notices
from anello.account.record import Record
from anello.account.verdict import as_it_stands
from anello.catalogue.entry import Entry
from anello.configuration.base import FrontEndsConfig
from anello.configuration.origin import node_page, write_beside
from anello.counters import pages
from anello.errors import ConfigError, EngineMissingError
from anello.run import display
from anello.run.chain import Chain, ChainNode, Keeper, RunEnd
from anello.run.chain_of import chain_of
from anello.run.placement import Placement, placed
from anello.run.run_control import RunControl
from anello.run.silence import SilenceWatch
from anello.run.source_process import SourceProcess
from anello.system.cpu import CpuTime
from anello.system.exit_codes import INTERRUPTED
from anello.system.interruption import Interruption
from anello.system.link import interface_to

DRAIN_TIMEOUT_S = 10.0
LOG_INTERVAL_S = 10.0
LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True)
class RunPlan:
    """What a run needs in addition to its configuration."""

    config: FrontEndsConfig
    source_arguments: Sequence[str]  # configuration file, --set and --events as the user gave them
    directory: Path
    reference: Any = None  # of the chain's own type: results of another reconstruction for the events that are sent


class NotStartedError(RuntimeError):
    """The run was ready, and the operator ended it before it began."""

    def __init__(self, exit_code: int = 0) -> None:
        super().__init__("the run was ended before it began")
        self.exit_code = exit_code


def _wait_for_the_word(lead: RunControl, interrupted: Interruption) -> None:
    if not lead.may_start():
        raise NotStartedError
    if interrupted.is_set():
        raise NotStartedError(INTERRUPTED)


def run(plan: RunPlan, console: Console, lead: RunControl | None = None, notices: Notices | None = None) -> Record:
    """Runs node and front ends on this machine. Raises ConfigError, OSError, SourceFailedError, NotStartedError."""
    lead, notices = lead or RunControl(), notices or Notices(display.shown_on(console))
    entry = lead.entry or Entry.none(plan.config, plan.directory)
    notices.listeners.append(entry.hear)
    with lead.showing_failure(), placed(plan.config) as (config, placement):
        _report_setup(config, placement, notices)
        return _run(replace(plan, config=config), entry, console, lead, notices)


def _report_setup(config: FrontEndsConfig, placement: Placement, notices: Notices) -> None:
    notices.report_all(filter(None, (*config.remarks, placement.words)), "info")


def _run(plan: RunPlan, entry: Entry, console: Console, lead: RunControl, notices: Notices) -> Record:
    chain, config = chain_of(plan.config), plan.config
    node = lead.node = chain.make_node(plan.directory, entry.origin)
    write_beside(plan.directory, config.raw_files, entry.origin)
    lead.show("configured")
    truth_path = plan.directory / "truth.npz"
    leading = [*chain.source_settings(node.ports()), f"threads.priority={config.threads.priority}"]
    arguments = [*plan.source_arguments, *(part for setting in leading for part in ("--set", setting))]
    arguments += ["--truth", str(truth_path)]
    with lead.interruptible() as interrupted, SourceProcess(arguments, entry.origin) as source:
        node.start()
        try:
            source.wait_ready()
            lead.know(front_ends=source.process)
            _wait_for_the_word(lead, interrupted)
            began = CpuTime.now()
            source.start()
            lead.announce("running")
            kept, history = _watch(chain, node, source, interrupted, console, notices=notices)
            lead.announce("draining")
            cpu = CpuTime.now().since(began)
            source.stop()
            # otherwise the node would not learn that this is the end
            if not (interrupted.is_set() or source.ended_badly):
                _wait_until(node.finished, DRAIN_TIMEOUT_S)
        finally:
            node.stop()
        node.set_state("failed" if source.ended_badly else "ended")
        kept.look(node)
        notices.report_all(node.notices())
        notices.close()
        record = chain.record(
            RunEnd(
                node,
                kept,
                notices,
                plan.directory,
                wall_s=time.monotonic() - began.wall_s,
                source=source.counters,
                interface=interface_to(config.front_ends.host),
                one_host=config.front_ends.host.startswith(LOOPBACK),
                interrupted=interrupted.is_set(),
                cpu=cpu.shares(source.cpu_s),
                truth=_truth(source.truth_path),
                reference=plan.reference,
                made=source.sequences,
                ended_badly=source.ended_badly,
                origin=entry.origin,
                history=history.moments(),
            )
        )
    truth_path.unlink(missing_ok=True)
    return record


def run_node(
    config: FrontEndsConfig,
    directory: Path,
    console: Console,
    lead: RunControl | None = None,
    notices: Notices | None = None,
) -> Record:
    """Runs the node alone: front ends elsewhere send to its ports. Raises ConfigError, OSError, NotStartedError."""
    lead = lead or RunControl()
    entry = lead.entry or Entry.none(config, directory)
    with lead.showing_failure(), placed(config) as (with_cores, placement):
        own_notices = notices or Notices(display.shown_on(console))
        own_notices.listeners.append(entry.hear)
        return _run_node(
            with_cores, directory, console, placement=placement, entry=entry, lead=lead, notices=own_notices
        )


def _run_node(
    config: FrontEndsConfig,
    directory: Path,
    console: Console,
    *,
    placement: Placement,
    entry: Entry,
    lead: RunControl,
    notices: Notices,
) -> Record:
    chain = chain_of(config)
    node = lead.node = chain.make_node(directory, entry.origin)
    write_beside(directory, config.raw_files, entry.origin)
    lead.show("configured")
    where = f"listening at {config.receive.host}, ports {', '.join(map(str, node.ports()))}"
    console.print(where, soft_wrap=True)
    notices.report(where, "detail")
    _report_setup(config, placement, notices)
    with lead.interruptible() as interrupted:
        _wait_for_the_word(lead, interrupted)
        began = time.monotonic()
        node.start()
        lead.announce("running")
        try:
            kept, history = _watch(chain, node, None, interrupted, console, notices=notices)
            lead.announce("draining")
        finally:
            node.stop()
        node.set_state("ended")
        kept.look(node)
        notices.report_all(node.notices())
        notices.close()
        return chain.record(
            RunEnd(
                node,
                kept,
                notices,
                directory,
                wall_s=time.monotonic() - began,
                source=None,
                interface="",
                one_host=False,
                interrupted=interrupted.is_set(),
                cpu=None,
                truth=None,
                reference=None,
                origin=entry.origin,
                history=history.moments(),
            )
        )


def _watch(
    chain: Chain,
    node: ChainNode,
    source: SourceProcess | None,
    interrupted: Interruption,
    console: Console,
    *,
    notices: Notices,
) -> tuple[Keeper, History]:
    """Shows progress until the run has ended, the front ends are done, or the user ends it."""
    kept, meter, settings = chain.keeper(), chain.meter(), chain.config.run
    history = History(*_judging_legs(chain.config.chain))
    silence, next_log_s = SilenceWatch(chain.longest_pause_s()), 0.0
    with display.make(settings.display, console) as shown:
        while not interrupted.wait(settings.refresh_ms * 1e-3):
            if source:
                source.poll()
            kept.look(node)
            counters = node.counters()  # read once: with hundreds of boards they are the main cost of an idle node
            notices.report_all([*node.notices(), *silence.look(counters)])
            notices.look()
            lost = as_it_stands(chain.flaws(counters, source.counters if source else None), balanced=True).lost
            progress = meter.look(node, counters, lost)
            shown.show(progress)
            history.look(progress.time_s, node.latency(), lost, _free_buffers())
            if progress.time_s >= next_log_s:
                next_log_s = progress.time_s + LOG_INTERVAL_S
                notices.report(display.line(progress), "detail")
            if node.finished() or (source and source.done):
                break
    return kept, history


def _judging_legs(chain: str) -> tuple[str, ...]:
    search = registry.registration(chain).search
    return (*search.also_whole, search.whole_way) if search else ()


def _free_buffers() -> dict[str, float]:
    """Free buffers by stage, from this process's counter page."""
    try:
        page = pages.look_at(node_page(os.getpid()))
        return {one.stage: one.n_free / one.n_buffers for one in page.buffers() if one.n_buffers}
    except (ConfigError, EngineMissingError, OSError):
        return {}


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
