# SPDX-License-Identifier: Apache-2.0
"""The card's sources in SystemVerilog, and the parts that they are checked and synthesised by."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Self

from anello.errors import InputError


@dataclass(frozen=True)
class Part:
    """folders: of rtl/, whose modules it has; ".": those in none."""

    name: str
    top: str
    folders: Sequence[str]


PARTS = (
    Part("registers", "nanet_io_registers", ("registers", "common")),
    Part("receive", "receive_path", ("receive", "common")),
    Part("data", "data_path", ("data", "common")),
    Part("memory", "memory_path", ("memory",)),
    Part("link_tdm", "link_tdm_receiver", ("links", "common")),
    Part("word_stuffing", "word_stuffing_receiver", ("links", "common")),
    Part("router", "router", ("links", "common")),
    Part("nanet_io", "nanet_io", (".", "registers", "receive", "data", "memory", "common")),
)


@dataclass(frozen=True)
class CardSources:
    """rtl: the folder of its sources."""

    rtl: Path

    @classmethod
    def here(cls) -> Self:
        """In the source tree. Raises InputError."""
        rtl = Path(__file__).resolve().parents[2] / "rtl"
        if not rtl.is_dir():
            raise InputError(f"{rtl}: the card's sources are not there: they are in the repository, not in the package")
        return cls(rtl)

    @property
    def build(self) -> Path:
        """Where tools and what they make go."""
        return self.rtl.parent / "build/nanet"

    @property
    def library(self) -> Path:
        """The whole card, compiled for the engine, where that has been done."""
        return self.build / "libanello_nanet.so"

    @cached_property
    def parts(self) -> dict[str, Part]:
        return {part.name: part for part in PARTS}

    def sources(self, part: Part) -> list[Path]:
        """Packages first."""
        found = [path for folder in part.folders for path in sorted((self.rtl / folder).glob("*.sv"))]
        return sorted(found, key=lambda path: not path.stem.endswith("_pkg"))

    def digest(self, part: Part) -> str:
        """Of all that its sources are."""
        content = sha256()
        for path in self.sources(part):
            content.update(path.read_bytes())
        return content.hexdigest()[:16]
