# SPDX-License-Identifier: Apache-2.0
"""Event building between nodes: how they find each other, run, and account for their data."""
