# SPDX-License-Identifier: Apache-2.0
"""The camera chain: its configuration, ledger, report, and the files of its events."""
