# SPDX-License-Identifier: Apache-2.0
"""The keys of this chain that no C++ code reads, each declared here alone."""

from typing import Literal

from pydantic import Field

from anello.section import Section


class CameraModelKeys(Section):
    """The camera: its boards, and what each sends of an event."""

    model: Literal["", "LSTCam", "NectarCam", "DigiCam"] = Field(
        default="",
        description="Which of the observatory's cameras it is, by ctapipe's name: tools that open its files then know "
        "where each pixel stands. Board b is the camera's module b. Empty: none of them.",
    )
