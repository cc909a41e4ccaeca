# SPDX-License-Identifier: Apache-2.0
"""The nodes of a farm on other machines: an agent there starts and watches them for the control room."""
