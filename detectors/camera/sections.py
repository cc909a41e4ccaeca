# SPDX-License-Identifier: Apache-2.0
"""The sections of the camera chain's configuration; those that several chains have are in anello/sections.py."""

from typing import ClassVar

from pydantic import Field

from anello.engine_keys import PublishKeys
from anello.sections import FrontEndsRunSection, Port, ReceiveSection, ThreadsSection, layout_field

from .engine_keys import (
    CameraBuilderKeys,
    CameraFaultsKeys,
    CameraGroupsKeys,
    CameraKeys,
    CameraPublishKeys,
    CameraRunKeys,
    CameraSendKeys,
    CameraSourceKeys,
    CompressionKeys,
)

MAX_CAMERA_BOARDS = 1024
HEADER_BYTES = 28 + 64  # IP and UDP; the fragment's own
MAX_PAYLOAD_BYTES = 9000 - HEADER_BYTES  # what a jumbo frame has room for
BYTES_PER_SAMPLE = 2


class CameraRunSection(FrontEndsRunSection, CameraRunKeys):
    """The run as a whole."""

    name: str = Field(
        default="cta-camera",
        pattern=r"^[\w.-]+$",
        description="Name of the run, with which its report directory's name begins.",
    )
    duration_s: float = Field(
        default=10,
        ge=0,
        le=1e6,
        description="Time the front ends send; 0: endless.",
    )
    n_report_events: int = Field(
        default=20_000, ge=0, le=1_000_000, description="Events whose charge is kept for the report's spectrum."
    )


class CameraSection(CameraKeys):
    """The camera: its boards, and what each sends of an event."""

    @property
    def fragment_payload_bytes(self) -> int:
        """Bytes behind the header of each fragment."""
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


class CameraSourceSection(CameraSourceKeys):
    """The camera's front ends: what they send, where to, and how fast."""

    faults: CameraFaultsKeys = CameraFaultsKeys()


class CameraReceiveSection(ReceiveSection):
    """Datagrams from the network, or from a file."""

    ports: list[Port] = Field(
        default=[0], min_length=1, max_length=MAX_CAMERA_BOARDS,
        description="UDP ports to listen on, one per board or fewer: the boards share them evenly, in order; 0: any "
        "free one.",
    )  # fmt: skip


class CameraBuildSection(CameraBuilderKeys, CameraGroupsKeys):
    """Fragments of all boards into camera events, by event number."""


class CameraSendSection(CompressionKeys, CameraSendKeys):
    """What is done with the events that the filter keeps."""


class CameraPublishSection(PublishKeys, CameraPublishKeys):
    """Results for programs that subscribe to them, while the run goes on."""


class CameraThreadsSection(ThreadsSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("receive", "build", "send")
    layout: list[str] = layout_field(["receive+build", "send"])
