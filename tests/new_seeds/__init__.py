# SPDX-License-Identifier: Apache-2.0
"""The search for faults with new seeds: `./dev search` (docs/how-to/search-for-faults.md)."""
