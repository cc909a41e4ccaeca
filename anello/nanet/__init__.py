# SPDX-License-Identifier: Apache-2.0
"""The network card, nanet_io: its registers, and the commands about it."""
