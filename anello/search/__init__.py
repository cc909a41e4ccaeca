# SPDX-License-Identifier: Apache-2.0
"""The search for the highest rate without loss: runs, verdicts, bisection, report."""
