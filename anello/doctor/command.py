# SPDX-License-Identifier: Apache-2.0
"""The command `anello doctor`: examines the host, shows the findings, and fixes them if the user asks for it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anello.configuration.base import FrontEndsConfig
from anello.configuration.load import Config
from anello.doctor import fixing, show, traffic
from anello.doctor.checks import examine, make_subject
from anello.doctor.finding import Finding, Grade
from anello.doctor.subject import Subject
from anello.errors import ConfigError
from anello.exchange.configuration.config import ExchangeConfig
from anello.exchange.placement import near_card
from anello.host import topology
from anello.host.host import Host
from anello.host.machine import ThisMachine
from anello.system import output


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    interface: str | None
    as_json: bool
    fix: bool
    yes: bool
    topology: bool = False
    traffic_s: float = 0  # s of each turn; 0: the traffic is not measured


def run(config: Config | None, options: Options) -> bool:
    """Runs the doctor. True when something is bad; after --fix --yes: still bad. Raises ConfigError,
    PermissionError."""
    if options.yes and not options.fix:
        raise ConfigError("--yes", "must come with --fix", "--yes alone", "anello doctor --fix shows what would be run")
    if options.fix and options.yes:
        fixing.require_root()
    host = Host(Path("/"), ThisMachine())
    if options.topology:
        return _show_topology(host, config, options.as_json)
    subject = make_subject(host, config, options.interface)
    if options.traffic_s > 0:
        return _show_traffic(subject, options)
    findings, outcomes = examine(host, subject), []
    if options.fix and options.yes:
        outcomes = fixing.carry_out(findings)
        findings = fixing.examine_again(host, subject, findings, outcomes)
    if options.as_json:
        print(as_json(findings, subject.interface, outcomes))
    elif options.fix and options.yes:
        show.show_outcomes(outcomes, findings, output.console())
    elif options.fix:
        print("\n".join(fixing.script(findings)))
    else:
        show.show(findings, subject.interface, output.console())
    return is_bad(findings)


def _show_topology(host: Host, config: Config | None, as_json: bool) -> bool:
    """Shows the processors; with a configuration of the exchange also where its node would run."""
    found = topology.read(host)
    place = near_card(config, host, host.machine.allowed_cores()) if isinstance(config, ExchangeConfig) else None
    if as_json:
        placed = {"placement": {"cores": sorted(place.cores), "words": place.words}} if place else {}
        print(json.dumps(topology.as_dict(found) | placed, indent=1))
    else:
        print("\n".join([*topology.lines(found), *([f"a node of the exchange: {place.words}"] if place else [])]))
    return False


def _show_traffic(subject: Subject, options: Options) -> bool:
    """Shows what each receive backend costs for the traffic that flows to the configuration's ports."""
    if not isinstance(subject.config, FrontEndsConfig) or not subject.is_configured:
        raise ConfigError(
            "--traffic",
            "must come with the configuration of a chain with front ends",
            "none",
            "anello doctor CONFIG --traffic 1",
        )
    configured = traffic.configured_way(subject.config)
    with output.console(stderr=True).status("receiving") as status:
        trials = traffic.try_all(subject.config, subject.interface, options.traffic_s, status.update)
    if options.as_json:
        print(json.dumps(traffic.as_dict(trials, configured), indent=1))
    else:
        traffic.show(trials, configured, output.console())
    return False


def is_bad(findings: Sequence[Finding]) -> bool:
    return any(finding.result == Grade.BAD for finding in findings)


def as_json(findings: Sequence[Finding], interface: str, outcomes: Sequence[fixing.FixOutcome]) -> str:
    return json.dumps(
        {
            "interface": interface,
            "bad": is_bad(findings),
            "findings": [finding.as_dict() for finding in findings],
            "outcomes": [outcome.as_dict() for outcome in outcomes],
        },
        indent=1,
    )
