# SPDX-License-Identifier: Apache-2.0
"""What a configuration decides of a camera's chain in virtual time (`anello simulate`)."""

from .config import CameraConfig


def settings(config: CameraConfig) -> list[str]:
    """As the chain's names of it (simulate/virtual_camera.cpp), where a camera has 19 boards."""
    build, source = config.camera_build, config.camera_source
    decided: dict[str, object] = {
        "layout": ",".join(config.threads.layout),
        "n_groups": build.groups,
        "window_events": build.window_events,
        "n_buffers": build.n_events,
        "timeout_ns": round(build.timeout_ms * 1e6),
        "rate_hz": source.rate_hz,
        "spread_us": 0 if source.burst else source.spread_us,
    }
    return [f"{name}={value}" for name, value in decided.items()]
