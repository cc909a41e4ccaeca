# SPDX-License-Identifier: Apache-2.0
"""The exchange's own code in virtual time: `anello simulate` (docs/explanation/simulation.md)."""
