# SPDX-License-Identifier: Apache-2.0
"""Exit codes of the commands; docs/reference/exit-codes.md is for users."""

from anello.errors import ConfigError, EngineMissingError, InputError

FAILED = 1  # it could not run, or its front ends or nodes ended badly
USAGE = 2
LEDGER = 3  # something is not accounted for
BAD_NEWS = 4  # no rate confirmed (search), something bad (doctor), demand not carried (plan), not explained (simulate)
LOST = 5  # data was lost for a cause that was not configured
INTERRUPTED = 130  # cut short by Ctrl-C: a second one, or before there was a result


def of(error: BaseException) -> int | None:
    """None for a bug of ours, which keeps its traceback."""
    if isinstance(error, ConfigError | InputError | FileExistsError):
        return USAGE
    if isinstance(error, EngineMissingError | OSError):
        return FAILED
    code = getattr(error, "exit_code", None)  # wrong use, as reported by typer, or a failed front end
    return code if isinstance(code, int) else None
