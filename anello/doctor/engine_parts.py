# SPDX-License-Identifier: Apache-2.0
"""Checks of what the engine can do on this host: ways to receive, and a GPU."""

from anello.doctor.finding import CheckResult, Fix, bad, good, not_applicable
from anello.doctor.subject import Subject
from anello.host.host import Host


def receive_backends(host: Host, subject: Subject) -> CheckResult:
    wanted = subject.with_front_ends.receive.backend
    return _ways(host.machine.receive_backends(subject.interface), "receive.backend", wanted, "socket")


def fabric(host: Host, subject: Subject) -> CheckResult:
    wanted = subject.value("fabric.transport")
    if wanted is None:
        return not_applicable("this chain has one node")
    return _ways(host.machine.fabric_transports(), "fabric.transport", str(wanted), "tcp")


def _ways(found: list[dict[str, object]], key: str, wanted: str, always: str) -> CheckResult:
    """Checks which ways the engine can use on this host. always: one that works everywhere."""
    usable = [_usable(one) for one in found if one.get("available")]
    refused = {str(one.get("name")): str(one.get("reason")) for one in found if not one.get("available")}
    what = f"usable: {', '.join(usable) or 'none'}"
    if wanted in refused:
        return bad(f"{key} = {wanted} does not work here: {refused[wanted]}; {what}", _another(found, key, always))
    if not refused:
        return good(what)
    reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
    return good(f"{what}; not: {reasons}")


def _usable(backend: dict[str, object]) -> str:
    return f"{backend.get('name')} ({backend['mode']})" if backend.get("mode") else str(backend.get("name"))


def _another(found: list[dict[str, object]], key: str, always: str) -> Fix:
    names = [str(one.get("name")) for one in found if one.get("available")]
    return Fix(advice=f'in the configuration: {key} = "{names[0] if names else always}"')


def cuda(host: Host, subject: Subject) -> CheckResult:
    wanted = subject.value("trigger.backend")
    if wanted is None:
        return not_applicable("this chain has nothing to do for a GPU")
    if wanted == "cpu":
        return not_applicable('trigger.backend = "cpu"')
    reason = host.machine.cuda_refusal()
    if not reason:
        return good("a device can be used")
    if wanted == "cuda":
        return bad(reason, Fix(advice='in the configuration: trigger.backend = "auto" finds rings on the processor'))
    return not_applicable(f'{reason}; trigger.backend = "auto" finds rings on the processor')
