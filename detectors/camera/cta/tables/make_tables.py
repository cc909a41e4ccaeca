# SPDX-License-Identifier: Apache-2.0
"""Makes the tables in this folder: LST and NectarCAM from those of the cameras' own ctapipe plug-ins, DigiCam by
the rule that the camera's own table (camera_config.cfg of digicampipe) follows.

pip install ctapipe_io_lst==0.31.1 ctapipe_io_nectarcam==0.2.4
python detectors/camera/cta/tables/make_tables.py
"""

import csv
import importlib.resources
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from astropy.table import Table

HERE = Path(__file__).parent
PIXELS_PER_MODULE = 7


def lst() -> Iterable[Any]:
    """Pixels are numbered in a spiral from the centre."""
    table = Table.read(importlib.resources.files("ctapipe_io_lst") / "resources/LSTCam.camgeom.fits.gz")
    for row in table:
        yield row["pix_id"], *divmod(int(row["hardware_pixel_id"]), PIXELS_PER_MODULE), row["pix_x"], row["pix_y"]


def nectarcam() -> Iterable[Any]:
    """Pixels are numbered module by module."""
    table = Table.read(importlib.resources.files("ctapipe_io_nectarcam") / "resources/NectarCam-003.camgeom.fits.gz")
    for row in table:
        yield row["pix_id"], *divmod(int(row["pix_id"]), PIXELS_PER_MODULE), row["pix_x"], row["pix_y"]


# Of the first of three sectors, each turned by 120 degrees: its first module's twelve pixels in steps of half a pixel's
# pitch and of a row; the steps from module to module; all of them from here.
# fmt: off
DIGICAM_MODULE = ((3, 0), (2, -1), (3, -2), (2, -3), (1, 0), (0, -1), (1, -2), (0, -3), (-2, -1), (-1, -2), (-2, -3),
                  (-1, -4))
# fmt: on
DIGICAM_STEPS = ((0, -4), (6, 2))
DIGICAM_CENTRE_MM = (24.3, 7.0148)
HALF_PITCH_MM, ROW_MM = 12.15, 12.15 * math.sqrt(3)
DIGICAM_SHELLS, DIGICAM_SECTORS = 6, 3


def digicam_modules() -> Iterator[tuple[int, int, int, int]]:
    """(module, sector, and its place in steps): shell by shell, in each of them sector by sector."""
    module = 0
    for shell in range(DIGICAM_SHELLS):
        places = [(shell, step) for step in range(shell)] + [(step, shell) for step in range(shell, -1, -1)]
        for sector in range(DIGICAM_SECTORS):
            for i, j in places:
                yield module, sector, i, j
                module += 1


def digicam() -> Iterable[Any]:
    """Pixels are numbered row by row, from below, each row from the left. The camera counts its modules from 1."""
    pixels = []
    for module, sector, i, j in digicam_modules():
        for channel, (half, row) in enumerate(DIGICAM_MODULE):
            (down_x, down_y), (up_x, up_y) = DIGICAM_STEPS
            x_mm = DIGICAM_CENTRE_MM[0] + (half + i * down_x + j * up_x) * HALF_PITCH_MM
            y_mm = DIGICAM_CENTRE_MM[1] + (row + i * down_y + j * up_y) * ROW_MM
            turn = complex(x_mm, y_mm) * complex(-0.5, math.sqrt(0.75)) ** sector
            pixels.append((round(turn.imag, 1), round(turn.real, 1), module, channel, turn))
    for pixel, (_, _, module, channel, place) in enumerate(sorted(pixels, key=lambda one: one[:2])):
        yield pixel, module, channel, place.real * 1e-3, place.imag * 1e-3


def main() -> None:
    for name, rows in (("lstcam", lst()), ("nectarcam", nectarcam()), ("digicam", digicam())):
        with (HERE / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("pixel", "module", "channel", "x_m", "y_m"))
            for pixel, module, channel, x_m, y_m in sorted(rows):
                table.writerow((int(pixel), module, channel, f"{x_m:.6f}", f"{y_m:.6f}"))


if __name__ == "__main__":
    main()
