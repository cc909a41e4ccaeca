# SPDX-License-Identifier: Apache-2.0
"""The extension that runs here is hardened, and the check of it can fail."""

import subprocess
import zipfile
from pathlib import Path

import check_binaries as check
import pytest

import anello._engine

HARDENED = ("-Wl,-z,relro,-z,now,-z,noexecstack",)


def compiled(folder: Path, *options: str) -> Path:
    source = folder / "small.c"
    source.write_text(
        "#include <stdio.h>\nvoid say(const char* s) { char b[64]; snprintf(b, sizeof b, s); puts(b); }\n"
    )
    library = folder / "libsmall.so"
    subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", *options, "-o", library, source], check=True)
    return library


def test_extension_is_hardened() -> None:
    assert list(check.problems(Path(anello._engine.__file__).resolve())) == []


@pytest.mark.parametrize("path", ["/usr/lib:", ":/usr/lib", "/usr/lib::/lib", "lib", "/usr/lib:../lib", "./$ORIGIN"])
def test_search_path_that_the_current_folder_decides_is_named(tmp_path: Path, path: str) -> None:
    library = compiled(tmp_path, *HARDENED, f"-Wl,-rpath,{path}")
    (line,) = check.problems(library)
    assert f"search path [{path}]" in line


@pytest.mark.parametrize("path", ["/usr/lib", "$ORIGIN", "$ORIGIN/../lib:/opt/hdf5/lib"])
def test_search_path_that_nobody_else_decides_is_allowed(tmp_path: Path, path: str) -> None:
    assert list(check.problems(compiled(tmp_path, *HARDENED, f"-Wl,-rpath,{path}"))) == []


@pytest.mark.parametrize(
    ("option", "said"),
    [("-Wl,-z,lazy", "BIND_NOW"), ("-Wl,-z,norelro", "GNU_RELRO"), ("-Wl,-z,execstack", "stack is executable")],
)
def test_each_missing_protection_is_named(tmp_path: Path, option: str, said: str) -> None:
    (line,) = check.problems(compiled(tmp_path, *HARDENED, option))
    assert said in line


def test_what_is_shipped_must_watch_itself(tmp_path: Path) -> None:
    library = compiled(tmp_path, *HARDENED, "-fno-stack-protector", "-U_FORTIFY_SOURCE", "-O1")
    shipped = library.rename(tmp_path / "_engine.cpython-311.so")
    lines = list(check.problems(shipped))
    assert ["stack protector" in lines[0], "checked call" in lines[1], len(lines)] == [True, True, 2]


def test_stack_protector_alone_is_no_checked_call(tmp_path: Path) -> None:
    library = compiled(tmp_path, *HARDENED, "-fstack-protector-all", "-U_FORTIFY_SOURCE", "-O1")
    (line,) = check.problems(library.rename(tmp_path / "_engine.cpython-311.so"))
    assert "checked call" in line


def test_wheel_is_opened(tmp_path: Path) -> None:
    library = compiled(tmp_path, *HARDENED, "-Wl,-rpath,/usr/lib:")
    with zipfile.ZipFile(tmp_path / "small-1.whl", "w") as wheel:
        wheel.write(library, "anello/libsmall.so")
    n_files, lines = check.check(tmp_path / "small-1.whl")
    assert (n_files, [line.split(":")[0] for line in lines]) == (1, ["small-1.whl/anello/libsmall.so"])


def test_programs_of_users_are_asked_for_search_paths_only(tmp_path: Path) -> None:
    library = compiled(tmp_path, "-Wl,-z,lazy", "-Wl,-rpath,lib")
    (line,) = check.problems(library, search_paths_only=True)
    assert "search path" in line
    assert check.main(["--search-paths", str(tmp_path)]) == 1
    compiled(tmp_path, "-Wl,-z,lazy")
    assert check.main(["--search-paths", str(tmp_path)]) == 0


def test_nothing_to_check_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(tmp_path)]) == 1
    assert check.main([str(tmp_path / "absent")]) == 1
    assert "holds no program or library" in capsys.readouterr().out
