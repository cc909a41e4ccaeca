# SPDX-License-Identifier: Apache-2.0
"""Exit codes of the commands; docs/reference/exit-codes.md is for users."""

from anello.errors import ConfigError, EngineMissingError, InputError

FAILED = 1  # it could not run, or not to its end
USAGE = 2
LEDGER = 3  # a row of the ledger does not balance
BAD_NEWS = 4  # no rate confirmed (search), something bad (doctor), rate not reached (plan), not explained (simulate)
LOST = 5  # data were lost for a cause that was not configured
INCOMPLETE = 6  # events lack boards
DEGRADED = 7  # a share above run.max_degraded_share was decided with less effort, or not at all
UNKNOWN = 8  # no data arrived, or the end of a board did not
INTERRUPTED = 130  # cut short by Ctrl-C: a second one, or one before there was a result

OF_A_RUN = (0, LEDGER, LOST, INCOMPLETE, DEGRADED, UNKNOWN)  # codes of a run that reached its end


def of(error: BaseException) -> int | None:
    """The exit code for an error. None for a bug of ours, which keeps its traceback."""
    if isinstance(error, ConfigError | InputError | FileExistsError):
        return USAGE
    if isinstance(error, EngineMissingError | OSError):
        return FAILED
    code = getattr(error, "exit_code", None)  # wrong use, reported by typer, or a failed front end
    return code if isinstance(code, int) else None
