# SPDX-License-Identifier: Apache-2.0
"""The sections of the camera chain's configuration; those that several chains have are in anello/sections.py."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anello.camera.engine_keys import CameraFaultsKeys, CameraKeys, CameraRunKeys, CameraSourceKeys
from anello.section import Section
from anello.sections import (
    FrontEndsRunSection,
    Port,
    PublishSection,
    ReceiveSection,
    Share,
    ThreadsSection,
    layout_field,
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


class CameraBuildSection(Section):
    """Fragments of all boards into camera events, by event number."""

    groups: int = Field(
        default=1,
        ge=1,
        le=8,
        description="Number of builders that share the boards, each with its own ports and thread.",
    )
    window_events: int = Field(
        default=64, ge=1, le=65_536, description="Number of events open at a time, and so how far apart boards may be."
    )
    n_events: int = Field(default=256, ge=2, le=65_536, description="Event buffers of each builder.")
    timeout_ms: float = Field(
        default=20, ge=0.1, le=10_000, description="Maximum time that an event waits for a missing board, ms."
    )
    verify_checksum: bool = Field(default=True, description="Check the CRC-32C of fragments that carry one.")
    copy_: Literal["auto", "plain", "ahead", "non_temporal"] = Field(
        default="auto",
        alias="copy",
        description="How fragments are copied to event memory; auto: the method with the lowest cost, measured on "
        "live traffic and reported in a notice.",
    )
    in_place: bool = Field(
        default=False,
        description="The kernel writes a fragment directly into its slot if the next one can be predicted; needs "
        "receive.gro = false.",
    )


class CameraFilterSection(Section):
    """The second filter: which events are handed on. Charges are sums of samples above the baseline, in counts."""

    enabled: bool = Field(default=True, description="Reject events without signal; false: keep all.")
    pixel_threshold: float = Field(default=60, ge=0, le=1e9, description="Charge above which a pixel counts.")
    charge_threshold: float = Field(
        default=500, ge=0, le=1e9,
        description="Minimum total charge of those pixels; the neighbour condition must hold as well.",
    )  # fmt: skip
    neighbours: int = Field(
        default=3, ge=1, le=8,
        description="Minimum number of such pixels within one pixel and its direct neighbours; 1 switches the "
        "neighbour condition off.",
    )  # fmt: skip
    prescale: int = Field(
        default=0, ge=0, le=2**31 - 1, description="One in this many events without signal is kept too; 0: none."
    )
    fraction: Share = Field(
        default=0, description="This share of the events without signal is kept too, chosen by event number."
    )
    incomplete: Literal["judge", "keep", "reject"] = Field(
        default="judge", description="Events with missing boards: judged by the pixels that are there, kept, rejected."
    )


class CameraSendSection(Section):
    """What is done with the events that the filter keeps."""

    file: str = Field(default="", description="HDF5 file, relative to the report directory; empty: none.")
    zstd_level: int = Field(default=1, ge=0, le=19, description="Compression level of events; 0: none.")
    shuffle: Literal["none", "byte", "bit"] = Field(
        default="byte", description="How samples are reordered before compression."
    )
    tcp_host: str = Field(default="", description="Host that receives the event stream; empty: none.")
    tcp_port: Annotated[int, Field(ge=0, le=65535)] = Field(default=0, description="Its TCP port.")


class CameraPublishSection(PublishSection):
    """Results for programs that subscribe to them, while the run goes on."""

    what: Literal["event", "pixels"] = Field(
        default="event",
        description="What is published of each kept event. event: waveforms, and charges where there are pixels; "
        "pixels: charges without waveforms.",
    )


class CameraThreadsSection(ThreadsSection):
    """Which stages share a thread, and where threads run."""

    stages: ClassVar = ("receive", "build", "send")
    layout: list[str] = layout_field(["receive+build", "send"])
