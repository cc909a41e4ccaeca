# SPDX-License-Identifier: Apache-2.0
"""The highest rate without loss: runs, verdicts, bisection, report."""
