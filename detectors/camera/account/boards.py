# SPDX-License-Identifier: Apache-2.0
"""The condition of boards, from counters and states."""

from collections.abc import Mapping

from anello.account.ledger import Counters, numbered

SILENT = 1  # build.board<b>.state


def silent_boards(node: Counters) -> list[int]:
    return [number for number, block in numbered(node, "build.board") if block.get("state") == SILENT]


def slow_boards(node: Counters, states: Mapping[str, str]) -> list[int]:
    """Boards that the node reports as slow, from states such as `board17`: `slow`, without the silent ones."""
    slow = [name.removeprefix("board") for name, state in states.items() if state == "slow"]
    return sorted({int(number) for number in slow if number.isdigit()} - set(silent_boards(node)))


def outvoted_boards(states: Mapping[str, str]) -> list[int]:
    """Boards whose run or event number differs from that of most boards."""
    found = [name.removeprefix("board") for name, state in states.items() if state == "out of step"]
    return sorted(int(number) for number in found if number.isdigit())


def telling_states(states: Mapping[str, str]) -> dict[str, str]:
    """The states without those of the hundreds of boards that have no problem."""
    return {name: state for name, state in states.items() if state not in ("live", "ended")}
