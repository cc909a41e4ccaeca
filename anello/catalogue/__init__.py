# SPDX-License-Identifier: Apache-2.0
"""The catalogue of runs: one SQLite file in the directory of all runs (docs/how-to/runs.md)."""
