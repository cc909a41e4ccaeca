# SPDX-License-Identifier: Apache-2.0
"""./dev installs the packages of pyproject.toml, with hashes, and the bill of materials names all that runs."""

import json
import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sbom
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import anello._engine

ROOT = Path(__file__).parents[2]
GROUPS = ("run", "dev", "readers")
ENGINE = Path(anello._engine.__file__).resolve()


def entries(group: str) -> Iterator[tuple[str, Version, list[str]]]:
    """Name, version, hashes of each entry of a lock file."""
    for entry in re.split(r"\n(?=\S)", (ROOT / f"requirements/{group}.txt").read_text()):
        pinned = Requirement(entry.split("\\")[0].strip())
        (specifier,) = pinned.specifier
        assert specifier.operator == "==", entry
        yield canonicalize_name(pinned.name), Version(specifier.version), sbom.HASH.findall(entry)


def pins(group: str) -> dict[str, Version]:
    return {name: version for name, version, _ in entries(group)}


def wanted(group: str) -> list[Requirement]:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extra = [] if group == "run" else asked["project"]["optional-dependencies"][group]
    return [Requirement(one) for one in [*asked["build-system"]["requires"], *asked["project"]["dependencies"], *extra]]


@pytest.mark.parametrize("group", GROUPS)
def test_every_pin_has_its_hashes(group: str) -> None:
    without = [name for name, _, hashes in entries(group) if not hashes]
    assert without == []


@pytest.mark.parametrize("group", GROUPS)
def test_pins_are_what_is_asked_for(group: str) -> None:
    pinned = pins(group)
    unmet = [str(one) for one in wanted(group) if not one.specifier.contains(pinned[canonicalize_name(one.name)])]
    assert unmet == [], "./dev lock renews them"


@pytest.mark.parametrize("group", ["dev", "readers"])
def test_groups_agree(group: str) -> None:
    run, other = pins("run"), pins(group)
    assert {name: other.get(name) for name in run} == run


def test_bill_names_every_library_and_package() -> None:
    text = sbom.json_of(sbom.bill(ENGINE))
    components = json.loads(text)["components"]
    needed = set(sbom.NEEDED.findall(sbom._said("readelf", "--dynamic", "--wide", str(ENGINE))))
    assert needed
    assert needed <= sbom.named_sonames(text)
    named = {canonicalize_name(one["name"]): Version(one["version"]) for one in components if "pypi" in one["bom-ref"]}
    assert named == pins("run")


def test_linked_libraries_are_traced_to_their_packages() -> None:
    (fmt,) = [one for one in sbom.libraries(ENGINE) if str(one.bom_ref.value).startswith("library:libfmt.so.")]
    if fmt.purl is None:
        pytest.skip("no Debian, nor what is made of it")
    version = str(fmt.bom_ref.value).rpartition(".")[2]
    assert re.match(rf"pkg:deb/\w+/libfmt{version}@", str(fmt.purl))
    assert re.fullmatch("[0-9a-f]{64}", next(iter(fmt.hashes)).content)


def wheel(folder: Path, *bills: str) -> Path:
    path = folder / "anello-1.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(ENGINE, f"anello/{ENGINE.name}")
        for number, text in enumerate(bills):
            archive.writestr(f"anello-1.dist-info/sboms/{number}.cdx.json", text)
    return path


def test_wheel_must_hold_a_whole_bill(tmp_path: Path) -> None:
    whole = sbom.json_of(sbom.bill(ENGINE))
    assert sbom.missing_in(wheel(tmp_path, whole)) == []
    assert "0 bills" in sbom.missing_in(wheel(tmp_path))[0]
    (line,) = sbom.missing_in(wheel(tmp_path, whole.replace('"value": "libzstd.so.1"', '"value": "libother.so.1"')))
    assert "does not name libzstd.so.1" in line
