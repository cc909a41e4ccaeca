# SPDX-License-Identifier: Apache-2.0
"""A bill of materials of what runs: our extension, the libraries that it loads, and the Python packages.

    sbom.py EXTENSION OUTPUT    writes CycloneDX JSON
    sbom.py --check WHEEL       the wheel holds one, and it names every library that its extension asks for

The libraries are those that the loader takes on this machine, each with its distribution package; the packages are
the pins of run.txt with the hashes of their files.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NEEDED = re.compile(r"\(NEEDED\)\s+Shared library: \[(.*)\]")
SONAME = "anello:soname"  # the name by which the loader asks for a library


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def python_packages(lock: Path) -> Iterator[Component]:
    """One component for each pin. A package has several files (one for each platform), so the hashes are properties."""
    for entry in re.split(r"\n(?=\S)", lock.read_text()):
        pin = PIN.match(entry)
        if pin is None:
            continue
        name, version = pin["name"], pin["version"]
        yield Component(
            type=ComponentType.LIBRARY, name=name, version=version, bom_ref=f"pypi:{name}",
            purl=PackageURL("pypi", None, name, version),
            properties=[Property(name="anello:allowed-sha256", value=digest) for digest in HASH.findall(entry)],
        )  # fmt: skip


def loaded_libraries(extension: Path) -> dict[str, Path]:
    """Name asked for -> file, as the loader of this machine finds them. RuntimeError for one that it does not find."""
    found = {}
    for line in _said("ldd", str(extension)).splitlines():
        name, _, file = line.strip().rpartition(" (")[0].partition(" => ")
        if line.endswith("not found"):
            raise RuntimeError(f"{extension}: the loader does not find {line.split()[0]}")
        if file or name.startswith("/"):  # the loader itself is named by its path alone
            found[Path(name).name] = Path(file or name).resolve()
    return found


def _owners(files: Iterable[Path]) -> dict[Path, tuple[str, str, str]]:
    """Name, version and architecture of the Debian package that each file belongs to; others are left out."""
    if shutil.which("dpkg-query") is None:
        return {}
    # Since /usr was merged the package database knows some files by the shorter path only.
    asked = {str(path).removeprefix(prefix): path for path in files for prefix in ("", "/usr")}
    lines = subprocess.run(
        ["dpkg-query", "-S", *asked], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    package_of = {asked[file]: packages.split(",")[0] for packages, file in (line.split(": ", 1) for line in lines)}
    if not package_of:
        return {}
    form = "-f=${binary:Package} ${Package} ${Version} ${Architecture}\n"
    known = {}
    for line in _said("dpkg-query", "-W", form, *set(package_of.values())).splitlines():
        package, name, version, architecture = line.split()
        known[package] = (name, version, architecture)
    by_name = {name: owner for owner in known.values() for name in (owner[0], f"{owner[0]}:{owner[2]}")}
    return {path: by_name[package] for path, package in package_of.items()}


def _distribution() -> tuple[str, str]:
    text = Path("/etc/os-release").read_text()
    release = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    name, version = release.get("ID", "linux").strip('"'), release.get("VERSION_ID", "").strip('"')
    return name, f"{name}-{version}"


def libraries(extension: Path) -> Iterator[Component]:
    """One component for each library that the extension loads, directly or through another."""
    vendor, distribution = _distribution()
    loaded = loaded_libraries(extension)
    owners = _owners(loaded.values())
    for soname, path in sorted(loaded.items()):
        name, version, architecture = owners.get(path, (soname, None, None))
        qualifiers = {"arch": architecture, "distro": distribution}
        yield Component(
            type=ComponentType.LIBRARY, name=name, version=version, bom_ref=f"library:{soname}",
            purl=PackageURL("deb", vendor, name, version, qualifiers) if path in owners else None,
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=_sha256(path))],
            properties=[Property(name=SONAME, value=soname)],
        )  # fmt: skip


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bill(extension: Path) -> Bom:
    """The whole bill for one extension."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = re.search(r"project\(anello VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert version is not None
    bom = Bom()
    bom.metadata.component = Component(
        type=ComponentType.APPLICATION, name=project["name"], version=version[1], bom_ref="anello",
        description=project["description"], licenses=[LicenseExpression(project["license"])],
    )  # fmt: skip
    parts = [*libraries(extension), *python_packages(ROOT / "requirements/run.txt")]
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(bom.metadata.component, parts)
    return bom


def json_of(bom: Bom) -> str:
    return JsonV1Dot6(bom).output_as_string(indent=1)


def named_sonames(text: str) -> set[str]:
    """The libraries that a bill names, by the name that the loader asks for. ValueError when it is no bill."""
    bom = Bom.from_json(json.loads(text))  # type: ignore[attr-defined]
    return {
        str(property_.value)
        for component in bom.components
        for property_ in component.properties
        if property_.name == SONAME
    }


def missing_in(wheel: Path) -> list[str]:
    """One line for each thing that is wrong with the bill in a wheel."""
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        bills = [name for name in archive.namelist() if re.search(r"\.dist-info/sboms/.*\.cdx\.json$", name)]
        extensions = [name for name in archive.namelist() if re.search(r"/_engine\..*\.so$", name)]
        if len(bills) != 1 or len(extensions) != 1:
            return [
                f"{wheel.name}: {len(bills)} bills of materials and {len(extensions)} extensions; one of each is wanted"
            ]
        extension = archive.extract(extensions[0], folder)
        needed = set(NEEDED.findall(_said("readelf", "--dynamic", "--wide", extension)))
        unnamed = needed - named_sonames(archive.read(bills[0]).decode())
    return [f"{wheel.name}: its bill of materials does not name {name}" for name in sorted(unnamed)]


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments[0] == "--check":
        problems = missing_in(Path(arguments[1]))
        print("\n".join(problems) or f"{Path(arguments[1]).name}: its bill of materials is whole")
        return 1 if problems else 0
    extension, output = map(Path, arguments)
    bom = bill(extension)
    output.write_text(json_of(bom) + "\n")
    print(f"{output}: {len(bom.components)} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
