# SPDX-License-Identifier: Apache-2.0
"""KM3NeT: slices of all optical modules (DOMs), coincidences within each, events of several."""
