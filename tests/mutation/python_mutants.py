# SPDX-License-Identifier: Apache-2.0
"""The mutants of a Python file, found in its syntax tree."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from mutation.mutant import Mutant, replaced_operator

BETWEEN = re.compile(r"(?:#[^\n]*|[\s()\\])+")


class _Text:
    """Positions of the syntax tree (line, column in UTF-8) as offsets in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = path.read_bytes()
        self.lines = [0]
        for line in self.source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.lines[node.lineno - 1] + node.col_offset,
            self.lines[node.end_lineno - 1] + node.end_col_offset,
        )

    def replaced(self, node: ast.expr | ast.stmt, text: str, kind: str) -> Mutant:
        begin, end = self.span(node)
        return Mutant(self.path, begin, end - begin, text, kind)

    def operator(self, left: ast.expr, right: ast.expr) -> list[Mutant]:
        """The operator that stands between two operands."""
        begin, end = self.span(left)[1], self.span(right)[0]
        between = self.source[begin:end].decode()
        operator = " ".join(BETWEEN.sub(" ", between).split())
        at = between.find(operator)
        return (
            replaced_operator(self.path, begin + len(between[:at].encode()), operator) if operator and at >= 0 else []
        )


def python_mutants(path: Path) -> list[Mutant]:
    """All mutants of one file, in the order of its text."""
    text = _Text(path)
    found = {mutant for node in _nodes(ast.parse(text.source)) for mutant in _of_node(text, node)}
    return sorted(found, key=lambda mutant: (mutant.offset, mutant.length, mutant.text))


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All but decorators: @dataclass(frozen=True) is for the type checker."""
    yield node
    for child in ast.iter_child_nodes(node):
        if child not in getattr(node, "decorator_list", []):
            yield from _nodes(child)


def _of_node(text: _Text, node: ast.AST) -> Iterator[Mutant]:
    match node:
        case ast.Compare():
            for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
                yield from text.operator(left, right)
        case ast.BoolOp():
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from text.operator(left, right)
        case ast.BinOp() if not _is_type(node):
            yield from text.operator(node.left, node.right)
        case ast.UnaryOp(op=ast.Not()):
            begin, _ = text.span(node)
            yield Mutant(text.path, begin, text.span(node.operand)[0] - begin, "", "logic")
        case ast.If() | ast.IfExp():
            yield text.replaced(node.test, "True", "condition")
            yield text.replaced(node.test, "False", "condition")
        case ast.Constant(value=bool()):
            yield text.replaced(node, str(not node.value), "constant")
        case ast.Constant(value=int()):
            yield text.replaced(node, str(node.value + 1), "constant")
        case ast.AugAssign() | ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield text.replaced(node, "pass", "statement")


def _is_type(node: ast.BinOp) -> bool:
    """`str | None` is a type, not arithmetic, here as elsewhere."""
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    nothing = any(isinstance(child, ast.Constant) and child.value is None for child in ast.walk(node))
    return isinstance(node.op, ast.BitOr) and (nothing or bool(names & {"str", "int", "float", "bool", "bytes"}))
