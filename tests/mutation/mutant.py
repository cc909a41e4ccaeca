# SPDX-License-Identifier: Apache-2.0
"""One small fault in one source file."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """Bytes [offset, offset + length) of a file become `text`; lines keep their numbers."""

    path: Path
    offset: int
    length: int
    text: str
    kind: str  # which rule made it: "comparison", "condition", ...

    def applied(self, source: bytes) -> bytes:
        """The source with the fault in it. Newlines that it swallows are put back after it."""
        swallowed = source[self.offset : self.offset + self.length].count(b"\n") - self.text.count("\n")
        fault = self.text.encode() + b"\n" * swallowed
        return source[: self.offset] + fault + source[self.offset + self.length :]

    def line(self, source: bytes) -> int:
        return source.count(b"\n", 0, self.offset) + 1

    def words(self, source: bytes) -> str:
        """The old and the new text, on one line."""
        before = " ".join(source[self.offset : self.offset + self.length].decode().split())
        return f"{before!r} -> {self.text!r}"


# The replacement of each operator. Comparisons move by one step or turn round; the rest takes its counterpart.
REPLACEMENTS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "//": ("*",),
    "%": ("*",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "^": ("&",),
    "&&": ("||",),
    "||": ("&&",),
    "and": ("or",),
    "or": ("and",),
    "in": ("not in",),
    "is": ("is not",),
    "is not": ("is",),
    "not in": ("in",),
    "+=": ("-=",),
    "-=": ("+=",),
    "|=": ("&=",),
    "&=": ("|=",),
    "*=": ("/=",),
    "/=": ("*=",),
    "<<=": (">>=",),
    ">>=": ("<<=",),
}
KINDS = {
    "comparison": {"<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"},
    "logic": {"&&", "||", "and", "or"},
}


def replaced_operator(path: Path, offset: int, operator: str) -> list[Mutant]:
    """The mutants of one operator that stands at `offset`; none for operators that have no counterpart."""
    kind = next((kind for kind, operators in KINDS.items() if operator in operators), "arithmetic")
    return [Mutant(path, offset, len(operator), text, kind) for text in REPLACEMENTS.get(operator, ())]
