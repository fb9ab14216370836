"""The condition language of uploaded processes: values, comparison, logic and plain arithmetic, nothing else.

Python's grammar is only used to read the text into a tree; the tree is walked here, node kind by node kind,
and no text is ever handed to an interpreter. Names come from the form's values; attributes, calls, subscripts
and comprehensions do not exist in the language.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from workflows.types import ExpressionRefused

TEXT_LIMIT = 500
NODE_LIMIT = 100
DEPTH_LIMIT = 20
NUMBER_LIMIT = 10**18
LITERAL_NAMES: Mapping[str, Any] = {"true": True, "false": False, "null": None}

ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
ORDER: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
PLAIN_NODES = (
    ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp,
    *ARITHMETIC, ast.Compare, *ORDER, ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Name, ast.Load, ast.Constant,
    ast.List, ast.Tuple,
)  # fmt: skip


def expression_check(text: str) -> None:
    """Raise ExpressionRefused when `text` is outside the language; compute nothing."""
    _tree(text)


def expression_evaluate(text: str, values: Mapping[str, Any]) -> bool:
    """The truth of a condition over the form's values; raises only ExpressionRefused."""
    result = _value(_tree(text).body, values)
    if not isinstance(result, bool):
        raise ExpressionRefused(f"The condition {text!r} is not true or false. Compare it with something.")
    return result


def expression_parts(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names a condition reads and the texts it compares with."""
    parts = list(ast.walk(_tree(text)))
    names = frozenset(part.id for part in parts if isinstance(part, ast.Name))
    return names, frozenset(
        part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


@lru_cache(maxsize=512)
def _tree(text: str) -> ast.Expression:
    if len(text) > TEXT_LIMIT:
        raise ExpressionRefused(
            f"The condition has {len(text)} characters; at most {TEXT_LIMIT} are allowed."
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionRefused(
            f"The condition {text!r} cannot be read. Write it like: amount > 100."
        ) from error
    _node_check(tree, 0)
    if sum(1 for _ in ast.walk(tree)) > NODE_LIMIT:
        raise ExpressionRefused(
            f"The condition has more than {NODE_LIMIT} parts. Split it over several gateways."
        )
    return tree


def _node_check(node: ast.AST, depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise ExpressionRefused(f"The condition nests deeper than {DEPTH_LIMIT}. Use fewer parentheses.")
    if not isinstance(node, PLAIN_NODES):
        raise ExpressionRefused(
            f"{type(node).__name__} is not part of the condition language. "
            "Use names of form values, literals, comparison, and, or, not, in, + - * /."
        )
    if isinstance(node, ast.Constant):
        _constant_check(node.value)
    for child in ast.iter_child_nodes(node):
        _node_check(child, depth + 1)


def _constant_check(value: Any) -> None:
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise ExpressionRefused(
            f"A literal of kind {type(value).__name__} is not allowed. Use numbers or texts."
        )
    if isinstance(value, (int, float)):
        _bounded(value)


def _bounded(value: float) -> float:
    if not abs(value) <= NUMBER_LIMIT:  # also true of inf and nan
        raise ExpressionRefused("A number in the condition is out of range. Keep it below 10^18.")
    return value


def _value(node: ast.AST, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _named(name, values)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, values) for item in items]
        case ast.BoolOp():
            return _logic(node, values)
        case ast.UnaryOp():
            return _unary(node, values)
        case ast.BinOp():
            return _arithmetic(node, values)
        case ast.Compare():
            return _comparison(node, values)
    raise ExpressionRefused(f"{type(node).__name__} is not part of the condition language.")


def _named(name: str, values: Mapping[str, Any]) -> Any:
    if name in LITERAL_NAMES:
        return LITERAL_NAMES[name]
    if name not in values:
        raise ExpressionRefused(
            f"There is no value named {name!r}. Add the field to the form or correct the name."
        )
    return values[name]


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ExpressionRefused(
            "and, or and not join conditions that are true or false. Compare the value first."
        )
    return value


def _logic(node: ast.BoolOp, values: Mapping[str, Any]) -> bool:
    parts = (_truth(_value(part, values)) for part in node.values)
    return all(parts) if isinstance(node.op, ast.And) else any(parts)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ExpressionRefused(
            f"Arithmetic needs numbers, not {type(value).__name__}. Correct the condition."
        )
    return _bounded(value)


def _unary(node: ast.UnaryOp, values: Mapping[str, Any]) -> Any:
    operand = _value(node.operand, values)
    if isinstance(node.op, ast.Not):
        return not _truth(operand)
    return -_number(operand) if isinstance(node.op, ast.USub) else _number(operand)


def _arithmetic(node: ast.BinOp, values: Mapping[str, Any]) -> float:
    left, right = _number(_value(node.left, values)), _number(_value(node.right, values))
    if isinstance(node.op, ast.Div) and right == 0:
        raise ExpressionRefused("The condition divides by zero. Test the divisor first.")
    return _bounded(ARITHMETIC[type(node.op)](left, right))


def _comparison(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    left = _value(node.left, values)
    for kind, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, values)
        if not _compared(kind, left, right):
            return False
        left = right
    return True


def _compared(kind: ast.cmpop, left: Any, right: Any) -> bool:
    if isinstance(kind, (ast.Eq, ast.NotEq)):
        return _equal(left, right) == isinstance(kind, ast.Eq)
    if isinstance(kind, (ast.In, ast.NotIn)):
        return _contained(left, right) == isinstance(kind, ast.In)
    if not (isinstance(left, str) and isinstance(right, str)):
        left, right = _number(left), _number(right)
    return ORDER[type(kind)](left, right)


def _equal(left: Any, right: Any) -> bool:
    """Equality without Python's `True == 1`."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _contained(item: Any, container: Any) -> bool:
    if isinstance(container, str) and isinstance(item, str):
        return item in container
    if isinstance(container, (list, tuple)):
        return any(_equal(item, member) for member in container)
    raise ExpressionRefused("in needs a list or a text on its right side. Correct the condition.")
