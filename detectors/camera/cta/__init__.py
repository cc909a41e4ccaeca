# SPDX-License-Identifier: Apache-2.0
"""What tools of the CTA observatory read: its cameras, its event files, and a source of events for ctapipe."""
