# SPDX-License-Identifier: Apache-2.0
"""A chain for detectors whose boards number their packets: configuration, ledger, report. The detector adds its
packet, how it is processed, and rows of its own for the ledger: docs/tutorial/05-your-own-detector.md."""
