# SPDX-License-Identifier: Apache-2.0
"""Required content of files of the observatory's data models, as protozfits reads them."""

from pathlib import Path
from typing import Any

import numpy as np

from anello.camera.cta import cameras, triggers
from anello.camera.event import CameraEvent


def check_dl0(protozfits: Any, path: Path, name: str, sent: dict[int, CameraEvent], run: int) -> list[int]:
    """Checks all that a file says about its run and its events; returns the event numbers."""
    camera, numbers = cameras.camera(name), []
    with protozfits.File(str(path)) as file:
        (stream,), (configuration,) = list(file.DataStream), list(file.CameraConfiguration)
        assert file.Events.header["PBFHEAD"] == "DL0v1.Telescope.Event"
        assert (stream.tel_id, stream.sb_id, stream.obs_id, stream.waveform_scale) == (1, run, run, 1.0)
        assert configuration.pixel_id_map.tolist() == camera.pixel_id.reshape(-1).tolist()
        assert configuration.module_id_map.tolist() == list(range(265))
        assert (configuration.num_pixels, configuration.num_modules) == (1855, 265)
        assert configuration.sampling_frequency == {"LSTCam": 1024, "NectarCam": 1000}[name]
        for row in file.Events:
            one = sent[int(row.event_id)]
            numbers.append(one.event_number)
            wanted, present = camera.by_channel(one)
            stored = np.repeat(present, 7)
            n_gains, _, n_samples = wanted.shape
            assert (row.num_channels, row.num_samples) == (n_gains, n_samples)
            assert (configuration.num_channels, configuration.num_samples_nominal) == (n_gains, n_samples)
            assert row.num_pixels_survived == stored.sum()
            assert np.array_equal(row.waveform.reshape(n_gains, -1, n_samples), wanted[:, stored])
            assert ((row.pixel_status & 3 != 0) == stored).all()
            assert row.event_time_s * 10**9 + row.event_time_qns // 4 == one.timestamp_ns
            assert row.event_type == triggers.event_type(one.trigger_tag)
            if one.first_cells is not None:
                assert np.array_equal(row.first_cell_id.reshape(265, 8)[one.boards], one.first_cells)
    return numbers
