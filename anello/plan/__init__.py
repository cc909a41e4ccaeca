# SPDX-License-Identifier: Apache-2.0
"""What an exchange on a large farm would carry: a simulation on SimPy, calibrated by what was measured here."""
