# SPDX-License-Identifier: Apache-2.0
"""KM3NeT: builds slices of all optical modules (DOMs) and finds coincidences in each DOM and events of several."""
