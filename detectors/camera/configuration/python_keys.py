# SPDX-License-Identifier: Apache-2.0
"""The keys of this chain that no C++ code reads, each declared here alone."""

from typing import Literal

from pydantic import Field

from anello.configuration.section import Section


class CameraModelKeys(Section):
    """The camera: its boards, and what each sends of an event."""

    model: Literal["", "LSTCam", "NectarCam", "DigiCam"] = Field(
        default="",
        description="Which of the observatory's cameras it is, by ctapipe's name: tools that open its files then know "
        "where each pixel stands. Board b is the camera's module b. Empty: none of them.",
    )


class CameraR1Keys(Section):
    """What is done with the events that the filter keeps."""

    r1_streams: int = Field(
        default=0,
        ge=0,
        le=4,
        description="R1v1 files (zfits; or as r1_model says) written side by side during the run, each by a "
        "process of its own, every event in one of them; 0: none. Needs camera.model and the package protozfits.",
    )
    r1_model: Literal["R1v1", "DL0v1"] = Field(
        default="R1v1",
        description="The observatory's data model that they are of: R1v1, as event builders write it, or DL0v1, as its "
        "archive keeps it, without pixels that are missing and what boards count.",
    )
    r1_pe_per_count: float = Field(
        default=0.0,
        ge=0.0,
        le=100.0,
        description="What a count above the baseline is worth in photo-electrons, as anello import-calibration says; "
        "readers of these files then have photo-electrons. Needs camera_calibrate.flatfield. 0: they have counts.",
    )
    r1_folder: str = Field(default="r1", min_length=1, description="Their folder, relative to the report directory.")
    r1_file_s: float = Field(
        default=1.0,
        ge=0.1,
        le=86400.0,
        description="Seconds after which all of them end at once, and the next ones begin: a file can be read once it "
        "has ended, and what kills run and writers at once takes those that are open. max_file_bytes holds for them, "
        "too.",
    )
    r1_telescope: int = Field(default=1, ge=1, le=255, description="Number of the telescope in them.")
