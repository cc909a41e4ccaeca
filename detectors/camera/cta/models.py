# SPDX-License-Identifier: Apache-2.0
"""The known cameras of the observatory, without modules that take long to import."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


@dataclass(frozen=True)
class Model:
    """table: a CSV file of its pixels, pixel,module,channel,x_m,y_m."""

    table: Path
    n_modules: int
    channels_per_module: int


_TABLES = Path(__file__).parent / "tables"
MODELS: Mapping[str, Model] = MappingProxyType(
    {  # by ctapipe's names
        "LSTCam": Model(_TABLES / "lstcam.csv", 265, 7),
        "NectarCam": Model(_TABLES / "nectarcam.csv", 265, 7),
        "DigiCam": Model(_TABLES / "digicam.csv", 108, 12),
    }
)
DESCRIBED = ("LSTCam", "NectarCam")  # with telescope and readout, as files of the observatory need them
