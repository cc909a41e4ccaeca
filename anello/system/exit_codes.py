# SPDX-License-Identifier: Apache-2.0
"""Exit codes of the commands; docs/reference/exit-codes.md is for users."""

from anello.errors import ConfigError, EngineMissingError, InputError

FAILED = 1  # it could not run, or not to its end
USAGE = 2
LEDGER = 3  # something is not accounted for
BAD_NEWS = 4  # no rate confirmed (search), something bad (doctor), demand not carried (plan), not explained (simulate)
LOST = 5  # data was lost for a cause that was not configured
INCOMPLETE = 6  # boards are missing in events
DEGRADED = 7  # more than run.max_degraded_share was decided with less effort, or not looked at
UNKNOWN = 8  # nothing came, or the end of a board did not
INTERRUPTED = 130  # cut short by Ctrl-C: a second one, or before there was a result

OF_A_RUN = (0, LEDGER, LOST, INCOMPLETE, DEGRADED, UNKNOWN)  # what a run is worth that was led to its end


def of(error: BaseException) -> int | None:
    """None for a bug of ours, which keeps its traceback."""
    if isinstance(error, ConfigError | InputError | FileExistsError):
        return USAGE
    if isinstance(error, EngineMissingError | OSError):
        return FAILED
    code = getattr(error, "exit_code", None)  # wrong use, as reported by typer, or a failed front end
    return code if isinstance(code, int) else None
