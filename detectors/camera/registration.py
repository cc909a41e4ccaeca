# SPDX-License-Identifier: Apache-2.0
"""Registers the parts of the camera that the rest of anello uses."""

from anello.registry import Registration, SearchKeys

REGISTRATION = Registration(
    about="the events of a CTA camera",
    config="anello.camera.configuration.config:CameraConfig",
    presentation="anello.camera.report.presentation:CameraPresentation",
    live="anello.camera.report.live_view:CameraLive",
    chain="anello.camera.chain:CameraChain",
    feed="anello.camera.feed:CameraFeed",
    virtual="anello.camera.virtual:VIRTUAL",
    farm="anello.camera.farm:CameraPart",
    commands=(
        "anello.camera.cli:convert",
        "anello.camera.cli:r1_repair",
        "anello.camera.cli:r1_stream",
        "anello.camera.cli:calibrate",
        "anello.camera.cli:import_calibration",
    ),
    outputs={"camera": "integration, filter, file"},
    record_kinds={2: "camera_event"},
    search=SearchKeys("camera_source.rate_hz", ("run.duration_s={seconds}", "run.n_events=0"), "first_to_sent"),
)
