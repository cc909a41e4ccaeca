# SPDX-License-Identifier: Apache-2.0
"""The tables beside this file, from those that the cameras' own ctapipe plug-ins carry.

pip install ctapipe_io_lst==0.31.1 ctapipe_io_nectarcam==0.2.4
python detectors/camera/cta/tables/make_tables.py
"""

import csv
import importlib.resources
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from astropy.table import Table

HERE = Path(__file__).parent
PIXELS_PER_MODULE = 7


def lst() -> Iterable[Any]:
    """Numbered in a spiral from the centre."""
    table = Table.read(importlib.resources.files("ctapipe_io_lst") / "resources/LSTCam.camgeom.fits.gz")
    for row in table:
        yield row["pix_id"], *divmod(int(row["hardware_pixel_id"]), PIXELS_PER_MODULE), row["pix_x"], row["pix_y"]


def nectarcam() -> Iterable[Any]:
    """Numbered module by module."""
    table = Table.read(importlib.resources.files("ctapipe_io_nectarcam") / "resources/NectarCam-003.camgeom.fits.gz")
    for row in table:
        yield row["pix_id"], *divmod(int(row["pix_id"]), PIXELS_PER_MODULE), row["pix_x"], row["pix_y"]


def main() -> None:
    for name, rows in (("lstcam", lst()), ("nectarcam", nectarcam())):
        with (HERE / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("pixel", "module", "channel", "x_m", "y_m"))
            for pixel, module, channel, x_m, y_m in sorted(rows):
                table.writerow((int(pixel), module, channel, f"{x_m:.6f}", f"{y_m:.6f}"))


if __name__ == "__main__":
    main()
