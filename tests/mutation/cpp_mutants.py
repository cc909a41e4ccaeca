# SPDX-License-Identifier: Apache-2.0
"""The mutants of a C++ file, found in clang's syntax tree: nothing in comments, templates' arguments or messages."""

import re
from collections.abc import Iterator
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit

from mutation.mutant import Mutant, replaced_operator

OPERATORS = {CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR}
STATEMENTS = OPERATORS | {CursorKind.CALL_EXPR, CursorKind.UNARY_OPERATOR}  # those that may stand alone and be left out
CONDITIONS = {CursorKind.IF_STMT: ("true", "false"), CursorKind.WHILE_STMT: ("false",)}
UNCHECKED = {  # what the compiler checks or nobody runs
    CursorKind.STATIC_ASSERT, CursorKind.ENUM_DECL, CursorKind.CASE_STMT, CursorKind.TYPE_ALIAS_DECL,
    CursorKind.TYPE_REF, CursorKind.TEMPLATE_REF, CursorKind.PARM_DECL,
}  # fmt: skip
INTEGER = re.compile(rb"(\d+)([uUlLzZ]*)$")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def cpp_mutants(path: Path, options: list[str]) -> list[Mutant]:
    """All mutants of one file, in the order of its text.

    path: the source; options: the compiler's, as in compile_commands.json. RuntimeError when clang cannot read it.
    """
    unit = Index.create().parse(str(path), args=options, options=TranslationUnit.PARSE_NONE)
    fatal = [message.spelling for message in unit.diagnostics if message.severity >= 4]
    if fatal:
        raise RuntimeError(f"{path}: clang cannot read it: {fatal[0]}")
    source = path.read_bytes()
    found: set[Mutant] = set()
    for cursor in unit.cursor.get_children():
        if cursor.location.file is not None and cursor.location.file.name == str(path):
            found.update(_of_tree(path, source, cursor))
    return sorted(found, key=lambda mutant: (mutant.offset, mutant.length, mutant.text))


def _of_tree(path: Path, source: bytes, cursor: Cursor) -> Iterator[Mutant]:
    if cursor.kind in UNCHECKED:
        return
    yield from _of_cursor(path, source, cursor)
    for child in cursor.get_children():
        yield from _of_tree(path, source, child)


def _of_cursor(path: Path, source: bytes, cursor: Cursor) -> Iterator[Mutant]:
    children = list(cursor.get_children())
    if cursor.kind in OPERATORS and len(children) == 2:
        yield from _operator(path, source, *children)
    elif cursor.kind in CONDITIONS:
        yield from _condition(path, source, cursor, children)
    elif cursor.kind == CursorKind.UNARY_OPERATOR:
        yield from _unary(path, source, cursor)
    elif cursor.kind == CursorKind.INTEGER_LITERAL:
        yield from _integer(path, source, cursor)
    elif cursor.kind == CursorKind.CXX_BOOL_LITERAL_EXPR:
        yield from _word(path, source, cursor, {"true": "false", "false": "true"}, "constant")
    elif cursor.kind in {CursorKind.BREAK_STMT, CursorKind.CONTINUE_STMT}:
        yield from _word(path, source, cursor, {"continue": "break", "break": "continue"}, "jump")
    elif cursor.kind == CursorKind.COMPOUND_STMT:
        for child in children:
            if child.kind in STATEMENTS:
                yield from _left_out(path, source, child)


def _operator(path: Path, source: bytes, left: Cursor, right: Cursor) -> Iterator[Mutant]:
    begin, end = left.extent.end.offset, right.extent.start.offset
    between = source[begin:end].decode()
    operator = COMMENT.sub("", between).strip(" \n()")
    if operator:
        at = between.rindex(operator)
        yield from replaced_operator(path, begin + len(between[:at].encode()), operator)


def _condition(path: Path, source: bytes, cursor: Cursor, children: list[Cursor]) -> Iterator[Mutant]:
    """The condition is the last expression before the first branch: `if (init; condition)`."""
    conditions = [child for child in children if child.kind.is_expression()]
    if not conditions or any(child.kind == CursorKind.DECL_STMT for child in children[:1]):
        return
    extent = conditions[0].extent
    if _is_plain(source, extent.start.offset, extent.end.offset):
        for text in CONDITIONS[cursor.kind]:
            yield Mutant(path, extent.start.offset, extent.end.offset - extent.start.offset, text, "condition")


def _unary(path: Path, source: bytes, cursor: Cursor) -> Iterator[Mutant]:
    begin, end = cursor.extent.start.offset, cursor.extent.end.offset
    if source[begin : begin + 2] == b"!=":  # that the compiler made of ==
        yield from replaced_operator(path, begin, "!=")
    elif source[begin : begin + 1] == b"!":
        yield Mutant(path, begin, 1, "", "logic")
    for operator, other in ((b"++", "--"), (b"--", "++")):
        for at in (begin, end - 2):
            if source[at : at + 2] == operator:
                yield Mutant(path, at, 2, other, "arithmetic")


def _integer(path: Path, source: bytes, cursor: Cursor) -> Iterator[Mutant]:
    begin, end = cursor.extent.start.offset, cursor.extent.end.offset
    literal = INTEGER.fullmatch(source[begin:end])
    if literal:
        text = str(int(literal[1], 8 if literal[1].startswith(b"0") and len(literal[1]) > 1 else 10) + 1)
        yield Mutant(path, begin, end - begin, text + literal[2].decode(), "constant")


def _word(path: Path, source: bytes, cursor: Cursor, words: dict[str, str], kind: str) -> Iterator[Mutant]:
    begin, end = cursor.extent.start.offset, cursor.extent.end.offset
    other = words.get(source[begin:end].decode())
    if other:
        yield Mutant(path, begin, end - begin, other, kind)


def _left_out(path: Path, source: bytes, statement: Cursor) -> Iterator[Mutant]:
    begin, end = statement.extent.start.offset, statement.extent.end.offset
    if _is_plain(source, begin, end) and source[end : end + 1] == b";":
        yield Mutant(path, begin, end - begin, "", "statement")


def _is_plain(source: bytes, begin: int, end: int) -> bool:
    """Not the inside of a macro, whose extent in the file is the macro's name alone."""
    text = source[begin:end]
    return end > begin and text.count(b"(") == text.count(b")") and not re.match(rb"[A-Z_]{4,}\(", text)
