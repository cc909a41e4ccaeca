# SPDX-License-Identifier: Apache-2.0
"""Exit codes of the commands; docs/reference/exit-codes.md is for users."""

FAILED = 1  # it could not run, or its front ends or nodes ended badly
USAGE = 2
LEDGER = 3  # something is not accounted for
BAD_NEWS = 4  # search confirmed no rate, doctor found something bad, plan: the demand is not carried
LOST = 5  # data was lost for a cause that was not configured
INTERRUPTED = 130
