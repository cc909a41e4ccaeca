# SPDX-License-Identifier: Apache-2.0
"""What an exchange on a large farm would carry: its own code in virtual time, with costs that were measured."""
