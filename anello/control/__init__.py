# SPDX-License-Identifier: Apache-2.0
"""The control room: leads runs that outlive it, and shows them."""
