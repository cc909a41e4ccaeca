# SPDX-License-Identifier: Apache-2.0
"""The control room over HTTP: page, API, metrics. docs/how-to/control-room.md"""
