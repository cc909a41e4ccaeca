# SPDX-License-Identifier: Apache-2.0
"""For tools of the CTA observatory: its cameras, its event files, and a source of events for ctapipe."""
