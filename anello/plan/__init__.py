# SPDX-License-Identifier: Apache-2.0
"""The throughput of an exchange on a large farm: its own code in virtual time, with measured costs."""
