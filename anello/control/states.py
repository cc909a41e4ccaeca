# SPDX-License-Identifier: Apache-2.0
"""The states of a control room and what leads from one to the next: one table, which is all there is."""

from collections.abc import Mapping
from enum import StrEnum

from anello.account.run_state import RunState


class State(StrEnum):
    """Of the control room; where it leads a run, the words are the run's."""

    OFFLINE = "offline"  # nothing is configured
    CONFIGURED = RunState.CONFIGURED.value  # a configuration that is valid; no process runs, or one makes itself ready
    READY = RunState.READY.value  # ports are bound, memory is touched, front ends wait for the word
    RUNNING = RunState.RUNNING.value
    DRAINING = RunState.DRAINING.value  # nothing more is taken in; what is there goes to its end
    ERROR = "error"  # the cause is in the status

    @classmethod
    def with_run(cls, state: RunState) -> "State":
        """Of a control room that comes to a run in this state: it will be ready, and has not been put away yet."""
        if state is RunState.CONFIGURED:
            return cls.READY
        return cls.DRAINING if state.is_over else cls(state)


class Step(StrEnum):
    """What is ordered, and what happens by itself."""

    CONFIGURE = "configure"
    ARM = "arm"
    START = "start"
    STOP = "stop"
    ABORT = "abort"
    RESET = "reset"
    # --- by itself
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
    """An order that the state does not allow."""

    def __init__(self, state: State, step: Step) -> None:
        super().__init__(f"{step} is not possible while {state}; possible now: {', '.join(possible(state))}")
        self.state, self.step = state, step


def possible(state: State) -> tuple[Step, ...]:
    """The orders that this state allows."""
    return tuple(step for step in ORDERS if (state, step) in TRANSITIONS)


def after(state: State, step: Step) -> State:
    """Raises WrongStateError."""
    try:
        return TRANSITIONS[state, step]
    except KeyError:
        raise WrongStateError(state, step) from None
