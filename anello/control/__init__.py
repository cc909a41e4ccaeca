# SPDX-License-Identifier: Apache-2.0
"""The control room: starts and stops runs, which survive it, and shows them."""
