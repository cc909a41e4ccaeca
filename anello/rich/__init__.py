# SPDX-License-Identifier: Apache-2.0
"""The RICH chain: its configuration, ledger and report."""
