# SPDX-License-Identifier: Apache-2.0
"""What the command's exit code says; docs/reference/exit-codes.md is for users."""

FAILED = 1  # it could not run, or its front ends or nodes ended badly
USAGE = 2
LEDGER = 3  # something is not accounted for
BAD_NEWS = 4  # search confirmed no rate, doctor found something bad, plan: the demand is not carried
LOST = 5  # data was made and not delivered, for a cause that the configuration did not order
INTERRUPTED = 130
