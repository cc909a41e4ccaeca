# SPDX-License-Identifier: Apache-2.0
"""The states of a control room and the steps between them: one table defines them all."""

from collections.abc import Mapping
from enum import StrEnum

from anello.account.run_state import RunState


class State(StrEnum):
    """The state of the control room; while it has a run, the words are those of the run's state."""

    OFFLINE = "offline"  # there is no configuration
    CONFIGURED = RunState.CONFIGURED.value  # the configuration is valid; no process runs, or one is being prepared
    READY = RunState.READY.value  # ports are bound, memory is touched, front ends wait for the start
    RUNNING = RunState.RUNNING.value
    DRAINING = RunState.DRAINING.value  # no new data are accepted; data already received are processed to the end
    ERROR = "error"  # the status has the cause

    @classmethod
    def with_run(cls, state: RunState) -> "State":
        """The state of a control room that finds a run in this state: a run that still prepares counts as READY, and
        one that has ended as DRAINING until the control room has recorded its end."""
        if state is RunState.CONFIGURED:
            return cls.READY
        return cls.DRAINING if state.is_over else cls(state)


class Step(StrEnum):
    """A step: an order, or something that happens by itself."""

    CONFIGURE = "configure"
    ARM = "arm"
    START = "start"
    STOP = "stop"
    ABORT = "abort"
    RESET = "reset"
    # --- Without an order
    DRAIN = "drain"  # the run came to its own end
    END = "end"
    FAIL = "fail"


ORDERS = (Step.CONFIGURE, Step.ARM, Step.START, Step.STOP, Step.ABORT, Step.RESET)

TRANSITIONS: Mapping[tuple[State, Step], State] = {
    (State.OFFLINE, Step.CONFIGURE): State.CONFIGURED,
    (State.CONFIGURED, Step.CONFIGURE): State.CONFIGURED,
    (State.CONFIGURED, Step.RESET): State.OFFLINE,
    (State.CONFIGURED, Step.ARM): State.READY,
    (State.READY, Step.START): State.RUNNING,
    (State.READY, Step.ABORT): State.CONFIGURED,
    (State.RUNNING, Step.STOP): State.DRAINING,
    (State.RUNNING, Step.DRAIN): State.DRAINING,
    (State.RUNNING, Step.ABORT): State.CONFIGURED,
    (State.DRAINING, Step.END): State.CONFIGURED,
    (State.DRAINING, Step.ABORT): State.CONFIGURED,
    (State.ERROR, Step.RESET): State.OFFLINE,
    **{(state, Step.FAIL): State.ERROR for state in State if state is not State.ERROR},
}


class WrongStateError(RuntimeError):
    """The state does not allow this order."""

    def __init__(self, state: State, step: Step) -> None:
        super().__init__(f"{step} is not possible while {state}; possible now: {', '.join(possible(state))}")
        self.state, self.step = state, step


def possible(state: State) -> tuple[Step, ...]:
    """The orders that this state allows."""
    return tuple(step for step in ORDERS if (state, step) in TRANSITIONS)


def after(state: State, step: Step) -> State:
    """The state after a step. Raises WrongStateError."""
    try:
        return TRANSITIONS[state, step]
    except KeyError:
        raise WrongStateError(state, step) from None
