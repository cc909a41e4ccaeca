# SPDX-License-Identifier: Apache-2.0
"""What is remembered of runs: one SQLite file in the directory of all runs (docs/how-to/runs.md)."""
