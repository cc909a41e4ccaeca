# SPDX-License-Identifier: Apache-2.0
"""The sections that the camera chain's configuration has of its own; others are in anello/configuration/sections.py."""

from typing import ClassVar

from anello.configuration.engine_keys import PublishKeys
from anello.configuration.section import KeyOverride
from anello.configuration.sections import FrontEndsRunSection, ReceiveSectionWithoutPorts, ThreadsSection

from ..cta.models import MODELS
from ..engine_keys import (
    CameraBuilderKeys,
    CameraFaultsKeys,
    CameraGroupsKeys,
    CameraKeys,
    CameraPortsKeys,
    CameraPublishKeys,
    CameraRunKeys,
    CameraSendKeys,
    CameraSourceKeys,
    CameraThreadsKeys,
    CompressionKeys,
)
from .python_keys import CameraModelKeys, CameraR1Keys

HEADER_BYTES = 28 + 64  # IP and UDP; the fragment's own
MAX_PAYLOAD_BYTES = 9000 - HEADER_BYTES  # room in a jumbo frame
BYTES_PER_SAMPLE = 2
DRS4_PIXELS, FIRST_CELLS_BYTES = 7, 16  # of a board with 8 DRS4 chips


class CameraRunSection(FrontEndsRunSection, CameraRunKeys):
    """The run as a whole."""

    own: ClassVar = {
        "name": KeyOverride("cta-camera"),
        "n_report_events": KeyOverride(meaning="Events whose charge is kept for the report's spectrum."),
    }


class CameraSection(CameraKeys, CameraModelKeys):
    """The camera: its boards, and what each sends of an event."""

    @property
    def fragment_payload_bytes(self) -> int:
        """Bytes after the header of each fragment."""
        return self.payload_bytes or self.waveform_bytes

    @property
    def waveform_bytes(self) -> int:
        """Bytes of the samples of a board."""
        return self.pixels_per_board * self.gains * self.samples * BYTES_PER_SAMPLE

    @property
    def packet_bytes(self) -> int:
        """A whole IP packet with one fragment."""
        return self.fragment_payload_bytes + HEADER_BYTES

    @property
    def n_pixels(self) -> int:
        return self.boards * self.pixels_per_board

    @property
    def pixels_path(self) -> str:
        """The file with the positions of pixels; empty: a made-up camera."""
        if self.pixels_file or not self.model:
            return self.pixels_file
        return str(MODELS[self.model].table)


class CameraSourceSection(CameraSourceKeys):
    """The camera's front ends: what they send, where to, and how fast."""

    faults: CameraFaultsKeys = CameraFaultsKeys()


class CameraReceiveSection(CameraPortsKeys, ReceiveSectionWithoutPorts):
    """Datagrams from the network, or from a file."""


class CameraBuildSection(CameraBuilderKeys, CameraGroupsKeys):
    """Fragments of all boards into camera events, by event number."""


class CameraSendSection(CompressionKeys, CameraSendKeys, CameraR1Keys):
    """What is done with the events that the filter keeps."""


class CameraPublishSection(PublishKeys, CameraPublishKeys):
    """Results for programs that subscribe to them during the run."""


class CameraThreadsSection(CameraThreadsKeys, ThreadsSection):
    """Which stages share a thread, and where threads run."""

    aside = ("send",)
