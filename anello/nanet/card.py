# SPDX-License-Identifier: Apache-2.0
"""The card's sources in SystemVerilog, and the parts in which they are checked and synthesised."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Self

from anello.errors import InputError


@dataclass(frozen=True)
class Part:
    """A part of the card. folders: of rtl/, whose modules the part includes; ".": those in no folder."""

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
    """The card's sources. rtl: their folder."""

    rtl: Path

    @classmethod
    def here(cls) -> Self:
        """The sources in this source tree. Raises InputError."""
        rtl = Path(__file__).resolve().parents[2] / "rtl"
        if not rtl.is_dir():
            raise InputError(f"{rtl}: the card's sources are not there: they are in the repository, not in the package")
        return cls(rtl)

    @property
    def build(self) -> Path:
        """The folder of tools and their output."""
        return self.rtl.parent / "build/nanet"

    @property
    def library(self) -> Path:
        """The path of the compiled card for the engine, if it has been built."""
        return self.build / "libanello_nanet.so"

    @cached_property
    def parts(self) -> dict[str, Part]:
        return {part.name: part for part in PARTS}

    def sources(self, part: Part) -> list[Path]:
        """The part's source files, packages first."""
        found = [path for folder in part.folders for path in sorted((self.rtl / folder).glob("*.sv"))]
        return sorted(found, key=lambda path: not path.stem.endswith("_pkg"))

    def digest(self, part: Part) -> str:
        """A digest of all the part's sources."""
        content = sha256()
        for path in self.sources(part):
            content.update(path.read_bytes())
        return content.hexdigest()[:16]
