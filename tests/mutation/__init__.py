# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: small faults in the sources, one at a time, which the tests of their folder must find."""
